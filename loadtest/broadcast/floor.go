package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/protocol"
	"laststand/loadtest/harness"
)

// bare measures the floor with pushes of the given size.
func bare(ctx context.Context, o options, size int) (outcome, error) {
	child, err := harness.StartChild(ctx, "-as", "floor", "-size", strconv.Itoa(size),
		"-watchers", strconv.Itoa(o.watchers))
	if err != nil {
		return outcome{}, err
	}
	address, err := bufio.NewReader(child.Output()).ReadString('\n')
	if err != nil {
		return outcome{}, err
	}
	group, err := gather(ctx, o, "ws://"+strings.TrimSpace(address), "")
	if err != nil {
		return outcome{}, err
	}
	before, err := harness.Taken(strconv.Itoa(child.ID()))
	if err != nil {
		return outcome{}, err
	}
	for range o.pushes {
		if _, err := fmt.Fprintln(child, "push"); err != nil {
			return outcome{}, err
		}
		time.Sleep(pause)
	}
	after, err := harness.Taken(strconv.Itoa(child.ID()))
	if err != nil {
		return outcome{}, err
	}
	one, err := sum(group, o)
	one.server = o.perFrame(after-before, o.pushes)
	return one, errors.Join(err, child.End())
}

// serveFloor writes a push of the given size to every socket in turn, for each line of
// standard input. Before each push it waits until it has counted all watchers, because a
// watcher gets the answer to its upgrade before serveFloor counts it.
func serveFloor(watchers, size int) error {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var sockets []*websocket.Conn
	upgrader := websocket.Upgrader{ReadBufferSize: 512, WriteBufferSize: 1024, WriteBufferPool: new(sync.Pool)}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		sockets = append(sockets, conn)
	})}
	go func() { _ = server.Serve(l) }() // the goroutine ends with the process
	fmt.Println(l.Addr())
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		mu.Lock()
		for len(sockets) < watchers {
			mu.Unlock()
			time.Sleep(time.Millisecond)
			mu.Lock()
		}
		frame := sized(size)
		for _, conn := range sockets {
			_ = conn.WriteMessage(websocket.TextMessage, frame)
		}
		mu.Unlock()
	}
	return nil
}

// sized returns a push with the current time as its instant of sending. It is as long as
// size, or longer if its fields need more.
func sized(size int) []byte {
	frame := func(text string) []byte {
		raw, _ := json.Marshal(map[string]any{ // plain fields always encode
			"type": protocol.TypeQuestion, "data": protocol.Question{Text: text, OpensAt: time.Now().UnixMilli()},
		})
		return raw
	}
	return frame(strings.Repeat("x", max(size-len(frame("")), 0)))
}
