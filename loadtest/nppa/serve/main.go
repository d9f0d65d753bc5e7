// Command serve runs the fake of the NPPA's interface by hand. It prints each request with
// accepted items as a line of JSON.
//
//	go run ./loadtest/nppa/serve
//	go run ./loadtest/nppa/serve -listen 127.0.0.1:9000 -keys OLD,NEW -qps 0 -for 1h
//	go run ./loadtest/nppa/serve -test-code abc123     # the test system's path as well
//
// To use it, configure a server's sink with the printed URL, app id, biz id and key. The
// command ends by itself.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"laststand/loadtest/nppa"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8290", "the address")
	app := flag.String("app", "test-appId", "the app id that it knows")
	biz := flag.String("biz", "1101999999", "the biz ids that it knows, with commas between")
	keys := flag.String("keys", "2836e95fcd10e04b0069bb1ee659955b", "the keys that are valid, with commas between")
	code := flag.String("test-code", "", "of the test case under way")
	qps := flag.Int("qps", 10, "requests a second of a biz id, before it is shut out for a minute; 0: any")
	all := flag.Bool("list-all", false, "a partial failure names every item")
	lasting := flag.Duration("for", 10*time.Minute, "how long it runs")
	flag.Parse()
	fake := nppa.New(nppa.Options{
		AppID: *app, BizIDs: strings.Split(*biz, ","), Keys: strings.Split(*keys, ","),
		TestCode: *code, PerSecond: *qps, ListAll: *all,
	})
	if err := serve(fake, *listen, *lasting); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}

func serve(fake *nppa.Fake, listen string, lasting time.Duration) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, lasting)
	defer cancel()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", listen)
	if err != nil {
		return err
	}
	fmt.Println("listening on http://" + listener.Addr().String() + nppa.ProductionPath)
	server := &http.Server{Handler: fake, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-served:
			show(fake)
			fmt.Println("answers by code:", fake.Answers())
			if errors.Is(err, http.ErrServerClosed) {
				return nil
			}
			return err
		case <-ctx.Done():
			_ = server.Close()
		case <-tick.C:
			show(fake)
		}
	}
}

func show(fake *nppa.Fake) {
	for _, report := range fake.Collect() {
		_ = json.NewEncoder(os.Stdout).Encode(report)
	}
}
