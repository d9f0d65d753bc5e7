package testenv

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// StartFloor starts this program again with some arguments, as a server to compare nodes with.
// The new process must call ServeFloor.
func StartFloor(arguments ...string) (*Node, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := newServerDir("floor", self)
	if err != nil {
		return nil, err
	}
	n := &Node{Dir: dir, admin: "nobody"} // ServeFloor checks no token
	n.child = child{path: self, args: arguments, log: filepath.Join(dir, "log"), ready: n.readAddresses}
	onExit(n.Kill)
	return n, n.Restart()
}

// ServeFloor serves a handler on loopback, and beside it the Go metrics and the garbage
// collection of this process. It ends with the context.
func ServeFloor(ctx context.Context, handler http.Handler) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
	mux := http.NewServeMux()
	mux.Handle("/", handler)
	mux.Handle("/metrics", promhttp.Handler())
	mux.Handle("/debug/pprof/heap", pprof.Handler("heap"))
	fmt.Printf("listening on http://%s\noperations on http://%[1]s\n", listener.Addr())
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	if err := server.Serve(listener); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
