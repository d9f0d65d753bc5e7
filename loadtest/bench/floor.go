package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/protocol"
)

// leanUpgrader accepts websockets with as little memory as the library permits.
func leanUpgrader() websocket.Upgrader {
	return websocket.Upgrader{Subprotocols: []string{protocol.Subprotocol}, ReadBufferSize: 1024, WriteBufferSize: 1024, WriteBufferPool: new(sync.Pool)}
}

// serveFloor serves a floor or a peer on loopback in a subprocess. It prints the address as
// a line, and ends when the standard input ends.
func serveFloor(handler http.Handler) error {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { // ends when the parent closes the input or has ended
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = listener.Close()
	}()
	fmt.Println(listener.Addr())
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	if err := server.Serve(listener); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
