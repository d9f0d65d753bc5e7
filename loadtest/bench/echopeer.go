package bench

import (
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"runtime"

	"github.com/gorilla/websocket"
)

// EchoPeerProcess is the name of the subprocess that EchoPeer runs.
const EchoPeerProcess = "bench-echo-peer"

// EchoPeer serves a plain loop in a subprocess, as a peer of Connections. It has default
// settings, or it is lean: it then uses as little memory as the library permits. The handler
// returns, the read buffer is small, and no write buffer is kept.
func EchoPeer(flags *flag.FlagSet) func(context.Context) error {
	isLean := flags.Bool("lean", false, "use as little memory as the library permits")
	return func(context.Context) error {
		upgrader := websocket.Upgrader{}
		if *isLean {
			upgrader = leanUpgrader()
		}
		mux := http.NewServeMux()
		mux.HandleFunc("/v1/ws", func(w http.ResponseWriter, r *http.Request) {
			conn, err := upgrader.Upgrade(w, r, nil)
			switch {
			case err != nil:
			case *isLean:
				go serveEcho(conn) // ends with the connection
			default:
				serveEcho(conn)
			}
		})
		mux.HandleFunc("/memory", serveMemory)
		return serveFloor(mux)
	}
}

// serveEcho answers each frame with a welcome.
func serveEcho(conn *websocket.Conn) {
	defer conn.Close()
	for {
		kind, _, err := conn.ReadMessage()
		if err == nil {
			err = conn.WriteMessage(kind, []byte(`{"re":1,"type":"welcome","data":{}}`))
		}
		if err != nil {
			return
		}
	}
}

// serveMemory collects the garbage and answers with the memory of this process.
func serveMemory(w http.ResponseWriter, _ *http.Request) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	_ = json.NewEncoder(w).Encode(memory{Heap: float64(m.HeapAlloc), Stacks: float64(m.StackInuse), Goroutines: float64(runtime.NumGoroutine())})
}
