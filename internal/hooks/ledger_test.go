package hooks_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/hooks"
	"laststand/internal/hooks/httphook"
	"laststand/internal/leaderboard"
	"laststand/internal/ledger"
	"laststand/internal/match"
	"laststand/internal/outbound"
	"laststand/internal/taskqueue"
	"laststand/internal/testenv"
	"laststand/internal/webhook"
)

var _ ledger.Events = (*hooks.Book)(nil)

const game = "demo"

// Two nodes deliver what is enqueued, signed and each event once; an endpoint
// that is gone is disabled at both.
func TestDeliveriesOfTheLedger(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		at := newShop(t)
		var nodes []*node
		for range 2 {
			nodes = append(nodes, at.open(t, db))
		}
		ctx, end := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for _, n := range nodes {
			n.run(ctx, &running)
		}
		const matches = 10
		for i := range matches {
			nodes[i%2].settle(t, fmt.Sprint("m", i))
			nodes[i%2].settle(t, fmt.Sprint("m", i/2)) // again
		}
		nodes[0].enqueue(t, nodes[0].book.Sealed(game, "2026-11-17", 1))
		at.until(t, func() bool { return len(at.had("good")) == matches+1 })
		at.until(t, func() bool { // enqueued before both knew
			list, err := nodes[1].office.List(t.Context())
			return err == nil && list[0].Disabled != "" && list[0].Dead > 0 && list[0].Waiting == 0
		})
		if _, err := nodes[1].office.Enable(t.Context(), game, "gone"); err != nil {
			t.Error(err)
		}
		end()
		running.Wait()
		for id, times := range at.had("good") {
			if times != 1 {
				t.Errorf("%s was delivered %d times", id, times)
			}
		}
		list, err := nodes[0].office.List(t.Context())
		if err != nil || list[0].Disabled != "" || list[1].Waiting+list[1].Dead != 0 || list[1].URL != at.url {
			t.Errorf("in the end %+v, %v", list, err)
		}
	})
}

// shop is where both endpoints are: one accepts what is genuine, one is gone.
type shop struct {
	url string
	key string

	mu    sync.Mutex
	times map[string]map[string]int // by endpoint and id
}

func newShop(t *testing.T) *shop {
	t.Helper()
	at := &shop{key: webhook.Generate(), times: map[string]map[string]int{"/good": {}, "/gone": {}}}
	server := httptest.NewServer(at)
	t.Cleanup(server.Close)
	at.url = server.URL
	return at
}

func (at *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at.mu.Lock()
	at.times[r.URL.Path][r.Header.Get("webhook-id")]++
	at.mu.Unlock()
	switch {
	case r.URL.Path == "/gone":
		w.WriteHeader(http.StatusGone)
	case !at.genuine(r):
		w.WriteHeader(http.StatusForbidden)
	}
}

func (at *shop) genuine(r *http.Request) bool {
	keys, err := webhook.ParseKeys(at.key)
	body, readErr := io.ReadAll(r.Body)
	headers := webhook.Headers{
		ID: r.Header.Get(webhook.HeaderID), Timestamp: r.Header.Get(webhook.HeaderTimestamp), Signature: r.Header.Get(webhook.HeaderSignature),
	}
	return err == nil && readErr == nil && webhook.Verify(keys, headers, body, time.Now()) == nil
}

func (at *shop) had(endpoint string) map[string]int {
	at.mu.Lock()
	defer at.mu.Unlock()
	had := map[string]int{}
	for id, times := range at.times["/"+endpoint] {
		had[id] = times
	}
	return had
}

func (at *shop) until(t *testing.T, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it does not come about; delivered %v", at.had("good"))
		}
	}
}

// node is a process with the ledger.
type node struct {
	ledger *ledger.Ledger
	bell   *taskqueue.Notifier
	book   *hooks.Book
	office *hooks.Office
}

func (at *shop) open(t *testing.T, db testenv.SQL) *node {
	t.Helper()
	book, err := hooks.NewBook([]hooks.Endpoint{{Game: game, Name: "gone"}, {Game: game, Name: "good"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := &node{bell: &taskqueue.Notifier{}, book: book}
	n.ledger, err = ledger.Open(t.Context(), ledger.Config{URL: db.URL, Dir: db.Dir, Wake: n.bell.Notify, Events: book, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.ledger.Close() })
	keys := func() ([]webhook.Key, error) { return webhook.ParseKeys(at.key) }
	client := outbound.New(outbound.Options{AllowPrivate: true})
	t.Cleanup(client.CloseIdleConnections)
	poster, err := httphook.New([]httphook.Target{
		{Game: game, Name: "gone", URL: at.url + "/gone", Keys: keys, Client: client}, {Game: game, Name: "good", URL: at.url + "/good", Keys: keys, Client: client},
	})
	if err != nil {
		t.Fatal(err)
	}
	n.office = hooks.NewOffice(hooks.Config{
		Book: book, States: n.ledger, Counts: n.ledger, Queue: n.ledger, Lists: noLists{}, Poster: poster, Logger: slog.New(slog.DiscardHandler),
	})
	return n
}

func (n *node) run(ctx context.Context, running *sync.WaitGroup) {
	log, registry := slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	workers := taskqueue.NewWorkers(taskqueue.Config{Claims: n.ledger, Notifier: n.bell, Services: n.office.Services(), Logger: log, Registry: registry})
	keeper := taskqueue.NewMaintainer(taskqueue.MaintainerConfig{Store: n.ledger, Notifier: n.bell, Logger: log, Registry: registry})
	for _, run := range []func(context.Context) error{n.office.Run, workers.Run, keeper.Run} {
		running.Go(func() { _ = run(ctx) })
	}
}

func (n *node) settle(t *testing.T, id string) {
	t.Helper()
	n.enqueue(t, n.book.Settled(&match.Result{Match: id, Game: game, Counts: true}, 1))
}

func (n *node) enqueue(t *testing.T, tasks []taskqueue.NewTask) {
	t.Helper()
	if _, err := n.ledger.Enqueue(t.Context(), tasks); err != nil {
		t.Error(err)
	}
}

// noLists are of a day on which nothing happened.
type noLists struct{}

func (noLists) Top(context.Context, string, string, leaderboard.Kind, int) ([]leaderboard.TopEntry, int64, error) {
	return nil, 0, nil
}
