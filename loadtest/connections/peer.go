package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"laststand/loadtest/harness"
	"laststand/loadtest/player"
)

// servePeer echoes frames in a plain loop. In the mode plain it has default settings. In
// the mode lean it uses as little memory as the library permits. The handler then returns,
// the read buffer is small, and no write buffer is kept.
func servePeer(as string) error {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	upgrader := websocket.Upgrader{}
	if as == "lean" {
		upgrader = websocket.Upgrader{ReadBufferSize: 1024, WriteBufferPool: new(sync.Pool)}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/ws", func(w http.ResponseWriter, r *http.Request) {
		conn, err := upgrader.Upgrade(w, r, nil)
		switch {
		case err != nil:
		case as == "lean":
			go echo(conn) // ends with the connection
		default:
			echo(conn)
		}
	})
	mux.HandleFunc("/memory", func(w http.ResponseWriter, _ *http.Request) {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		_ = json.NewEncoder(w).Encode(memory{Heap: float64(m.HeapAlloc), Stacks: float64(m.StackInuse), Goroutines: float64(runtime.NumGoroutine())})
	})
	go func() { // ends when the parent closes the input or has ended
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = l.Close()
	}()
	fmt.Println("http://" + l.Addr().String())
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	if err := server.Serve(l); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

func echo(conn *websocket.Conn) {
	defer conn.Close()
	for {
		kind, frame, err := conn.ReadMessage()
		if err == nil {
			err = conn.WriteMessage(kind, frame)
		}
		if err != nil {
			return
		}
	}
}

// peer is such a server in a process of its own.
type peer struct {
	*harness.Child
	site string
}

func startPeer(ctx context.Context, as string) (*peer, error) {
	child, err := harness.StartChild(ctx, "-as", as)
	if err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(child.Output()).ReadString('\n')
	return &peer{child, strings.TrimSpace(line)}, err
}

func (p *peer) url() string { return p.site }

func (p *peer) stop() { _ = p.End() }

func (p *peer) memory(ctx context.Context) (m memory, err error) {
	if err := player.Get(ctx, p.site+"/memory", &m); err != nil {
		return m, err
	}
	bytes, err := harness.Resident(p.ID())
	m.Resident = float64(bytes)
	return m, err
}
