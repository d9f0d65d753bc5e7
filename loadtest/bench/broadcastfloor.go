package bench

import (
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/protocol"
)

// BroadcastFloorProcess is the name of the subprocess that BroadcastFloor runs.
const BroadcastFloorProcess = "bench-broadcast-floor"

// broadcastFloor writes a push to every socket in turn, at each request for /push.
type broadcastFloor struct {
	upgrader websocket.Upgrader
	size     int // bytes of a push

	mu      sync.Mutex
	sockets []*websocket.Conn
}

// BroadcastFloor serves the floor of Broadcast in a subprocess.
func BroadcastFloor(flags *flag.FlagSet) func(context.Context) error {
	size := flags.Int("size", 0, "bytes of a push")
	return func(context.Context) error {
		f := &broadcastFloor{upgrader: leanUpgrader(), size: *size}
		mux := http.NewServeMux()
		mux.HandleFunc("/v1/ws", f.serveSocket)
		mux.HandleFunc("/push", f.servePush)
		return serveFloor(mux)
	}
}

// serveSocket welcomes a watcher, lets it join, and keeps its socket.
func (f *broadcastFloor) serveSocket(w http.ResponseWriter, r *http.Request) {
	conn, err := f.upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	for i, reply := range []string{`{"re":1,"type":"welcome","data":{}}`, `{"re":2,"type":"arena.joined","data":{}}`} {
		if _, _, err := conn.ReadMessage(); err != nil {
			_ = conn.Close()
			return
		}
		if i == 1 { // before the reply, so that the watcher gets the first push
			f.mu.Lock()
			f.sockets = append(f.sockets, conn)
			f.mu.Unlock()
		}
		_ = conn.WriteMessage(websocket.TextMessage, []byte(reply))
	}
}

func (f *broadcastFloor) servePush(w http.ResponseWriter, _ *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	push := questionOfSize(f.size)
	for _, conn := range f.sockets {
		_ = conn.WriteMessage(websocket.TextMessage, push) // a watcher that has disconnected misses it
	}
	_ = json.NewEncoder(w).Encode(len(f.sockets))
}

// questionOfSize returns a push that opens a question now. It has the given size in bytes, or
// more if its fields need more.
func questionOfSize(size int) []byte {
	encode := func(text string) []byte {
		return protocol.EncodePush(protocol.TypeQuestion, protocol.Question{Text: text, OpensAt: time.Now().UnixMilli()})
	}
	return encode(strings.Repeat("x", max(size-len(encode("")), 0)))
}
