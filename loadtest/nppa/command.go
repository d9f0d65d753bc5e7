package nppa

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// Command runs the fake by hand. It prints each request with accepted items as a line of
// JSON. It ends by itself.
//
//	go run ./loadtest nppa
//	go run ./loadtest nppa -listen 127.0.0.1:9000 -keys OLD,NEW -qps 0 -for 1h
//	go run ./loadtest nppa -test-code abc123     # the test system's path as well
//
// To use it, configure a server's sink with the printed URL, app id, biz id and key.
func Command(flags *flag.FlagSet) func(context.Context) error {
	var o Options
	listen := flags.String("listen", "127.0.0.1:8290", "`address` to listen on")
	bizIDs := flags.String("biz", "1101999999", "accepted biz `ids`, separated by commas")
	keys := flags.String("keys", "2836e95fcd10e04b0069bb1ee659955b", "valid `keys`, separated by commas")
	flags.StringVar(&o.AppID, "app", "test-appId", "accepted app `id`")
	flags.StringVar(&o.TestCode, "test-code", "", "`code` of the current test case")
	flags.IntVar(&o.PerSecond, "qps", 10, "requests per second of a biz id, above which it is refused for a minute; 0: no limit")
	duration := flags.Duration("for", 10*time.Minute, "end after this time")
	return func(ctx context.Context) error {
		o.BizIDs, o.Keys = strings.Split(*bizIDs, ","), strings.Split(*keys, ",")
		ctx, cancel := context.WithTimeout(ctx, *duration)
		defer cancel()
		return serve(ctx, New(o), *listen)
	}
}

// serve serves the fake until the context ends.
func serve(ctx context.Context, f *Fake, address string) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	fmt.Println("listening on http://" + listener.Addr().String() + ProductionPath)
	server := &http.Server{Handler: printReports(f), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	fmt.Println("answers by code:", f.AnswerCounts())
	return nil
}

// printReports prints what the fake has accepted after each request.
func printReports(f *Fake) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.ServeHTTP(w, r)
		for _, report := range f.TakeReports() {
			_ = json.NewEncoder(os.Stdout).Encode(report)
		}
	})
}
