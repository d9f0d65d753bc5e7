package bench

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/protocol"
	"laststand/loadtest/client"
)

// PlainServerProcess is the name of the subprocess that PlainServer runs.
const PlainServerProcess = "bench-plain-server"

// plainServer is a server without a game: the floor of Broadcast and the peers of
// Connections. It replies to each request, and at /push?size=N it writes a push of N bytes to
// every socket in turn.
type plainServer struct {
	upgrader websocket.Upgrader
	isLean   bool // uses as little memory as the library permits, and otherwise default settings

	mu      sync.Mutex
	sockets []*websocket.Conn
}

// PlainServer serves plain websockets in a subprocess.
func PlainServer(flags *flag.FlagSet) func(context.Context) error {
	s := new(plainServer)
	flags.BoolVar(&s.isLean, "lean", false, "use as little memory as the library permits")
	return func(context.Context) error {
		if s.isLean {
			s.upgrader = leanUpgrader()
		}
		mux := http.NewServeMux()
		mux.HandleFunc("/v1/ws", s.serveSocket)
		mux.HandleFunc("/push", s.servePush)
		mux.HandleFunc("/memory", serveMemory)
		return serveFloor(mux)
	}
}

func (s *plainServer) serveSocket(w http.ResponseWriter, r *http.Request) {
	conn, err := s.upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	s.mu.Lock()
	s.sockets = append(s.sockets, conn)
	s.mu.Unlock()
	if s.isLean { // the handler returns, so that its memory is freed
		go serveReplies(conn) // ends with the connection
		return
	}
	serveReplies(conn)
}

// serveReplies answers each request with a welcome.
func serveReplies(conn *websocket.Conn) {
	defer conn.Close()
	for {
		kind, request, err := conn.ReadMessage()
		if err == nil {
			id, _ := client.ParseNumber(client.TextAfter(request, `{"id":`))
			err = conn.WriteMessage(kind, fmt.Appendf(nil, `{"re":%d,"type":"welcome","data":{}}`, id))
		}
		if err != nil {
			return
		}
	}
}

func (s *plainServer) servePush(w http.ResponseWriter, r *http.Request) {
	size, err := strconv.Atoi(r.FormValue("size"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	push := questionOfSize(size)
	for _, conn := range s.sockets {
		_ = conn.WriteMessage(websocket.TextMessage, push) // a watcher that has disconnected misses it
	}
	_ = json.NewEncoder(w).Encode(len(s.sockets))
}

// questionOfSize returns a push that opens a question now. It has the given size in bytes, or
// more if its fields need more.
func questionOfSize(size int) []byte {
	encode := func(text string) []byte {
		return protocol.EncodePush(protocol.TypeQuestion, protocol.Question{Text: text, OpensAt: time.Now().UnixMilli()})
	}
	return encode(strings.Repeat("x", max(size-len(encode("")), 0)))
}

// serveMemory collects the garbage and answers with the memory of this process.
func serveMemory(w http.ResponseWriter, _ *http.Request) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	_ = json.NewEncoder(w).Encode(memory{Heap: float64(m.HeapAlloc), Stacks: float64(m.StackInuse), Goroutines: float64(runtime.NumGoroutine())})
}
