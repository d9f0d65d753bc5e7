package webhook_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/httpserver"
	"laststand/internal/leaderboard"
	"laststand/internal/ledger"
	"laststand/internal/match"
	"laststand/internal/taskqueue"
	"laststand/internal/testenv"
	"laststand/internal/webhook"
)

var _ ledger.Events = (*webhook.Registry)(nil)

const game = "demo"

// Two nodes deliver the enqueued events, signed and each once. An endpoint that is
// gone is disabled at both.
func TestTwoNodesDeliverEachEventOnce(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		receiver := newReceivingServer(t)
		var nodes []*node
		for range 2 {
			nodes = append(nodes, receiver.openNode(t, db))
		}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for _, n := range nodes {
			n.run(ctx, &running)
		}
		const matches = 10
		for i := range matches {
			nodes[i%2].settle(t, fmt.Sprint("m", i))
			nodes[i%2].settle(t, fmt.Sprint("m", i/2)) // the same match again
		}
		nodes[0].enqueue(t, nodes[0].registry.TasksForEndedDay(game, "2026-11-17", 1))
		receiver.waitFor(t, func() bool { return len(receiver.received("good")) == matches+1 })
		receiver.waitFor(t, func() bool { // some events were enqueued before both nodes knew that the endpoint is disabled
			list, err := nodes[1].dispatcher.List(t.Context())
			return err == nil && list[0].Disabled != "" && list[0].Dead > 0 && list[0].Waiting == 0
		})
		if _, err := nodes[1].dispatcher.Enable(t.Context(), game, "gone"); err != nil {
			t.Error(err)
		}
		stop()
		running.Wait()
		for id, times := range receiver.received("good") {
			if times != 1 {
				t.Errorf("%s was delivered %d times", id, times)
			}
		}
		list, err := nodes[0].dispatcher.List(t.Context())
		if err != nil || list[0].Disabled != "" || list[1].Waiting+list[1].Dead != 0 || list[1].URL != receiver.url {
			t.Errorf("in the end %+v, %v", list, err)
		}
	})
}

// receivingServer receives for both endpoints: one accepts genuine messages, one
// is gone.
type receivingServer struct {
	url string
	key string

	mu         sync.Mutex
	deliveries map[string]map[string]int // number of deliveries, by path and id
}

func newReceivingServer(t *testing.T) *receivingServer {
	t.Helper()
	receiver := &receivingServer{key: webhook.GenerateKey(), deliveries: map[string]map[string]int{"/good": {}, "/gone": {}}}
	server := httptest.NewServer(receiver)
	t.Cleanup(server.Close)
	receiver.url = server.URL
	return receiver
}

func (s *receivingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.deliveries[r.URL.Path][r.Header.Get("webhook-id")]++
	s.mu.Unlock()
	switch {
	case r.URL.Path == "/gone":
		w.WriteHeader(http.StatusGone)
	case !s.isGenuine(r):
		w.WriteHeader(http.StatusForbidden)
	}
}

func (s *receivingServer) isGenuine(r *http.Request) bool {
	received, err := testenv.ReadRequest(r)
	return err == nil && received.Verify(s.key, time.Now()) == nil
}

func (s *receivingServer) received(endpoint string) map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := map[string]int{}
	for id, times := range s.deliveries["/"+endpoint] {
		counts[id] = times
	}
	return counts
}

func (s *receivingServer) waitFor(t *testing.T, isDone func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !isDone(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the condition is not true after a minute; delivered %v", s.received("good"))
		}
	}
}

// node is a process with the ledger.
type node struct {
	ledger     *ledger.Ledger
	notifier   *taskqueue.Notifier
	registry   *webhook.Registry
	dispatcher *webhook.Dispatcher
}

func (s *receivingServer) openNode(t *testing.T, db testenv.SQL) *node {
	t.Helper()
	registry := testenv.Need(webhook.NewRegistry([]webhook.Endpoint{{Game: game, Name: "gone", URL: s.url + "/gone"}, {Game: game, Name: "good", URL: s.url + "/good"}}, nil))(t)
	n := &node{notifier: taskqueue.NewNotifier(nil), registry: registry}
	n.ledger = testenv.Need(ledger.Open(t.Context(), ledger.Config{URL: db.URL, Dir: db.Dir, NotifyTopic: n.notifier.Notify, Events: registry, Logger: slog.New(slog.DiscardHandler)}))(t)
	t.Cleanup(func() { _ = n.ledger.Close() })
	client := httpserver.NewClient(httpserver.ClientOptions{AllowPrivate: true})
	t.Cleanup(client.CloseIdleConnections)
	poster := &httpserver.Poster{
		Keys: func(webhook.Endpoint) ([]webhook.Key, error) { return webhook.ParseKeys(s.key) }, Clients: map[bool]*http.Client{false: client},
	}
	n.dispatcher = webhook.NewDispatcher(webhook.Config{
		Registry: registry, EndpointStates: n.ledger.Endpoints, TaskCounter: n.ledger.Tasks, Queue: n.ledger.Tasks, TopLists: noTopLists{}, Poster: poster, Logger: slog.New(slog.DiscardHandler),
	})
	return n
}

func (n *node) run(ctx context.Context, running *sync.WaitGroup) {
	log, registry := slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	workers := taskqueue.NewWorkers(taskqueue.Config{Store: n.ledger.Claims, Notifier: n.notifier, Kinds: n.dispatcher.Services(), Logger: log, Registry: registry})
	maintainer := taskqueue.NewMaintainer(taskqueue.MaintainerConfig{Store: n.ledger.Maintenance, Logger: log, Registry: registry})
	for _, run := range []func(context.Context) error{n.dispatcher.Run, workers.Run, maintainer.Run} {
		running.Go(func() { _ = run(ctx) })
	}
}

func (n *node) settle(t *testing.T, id string) {
	t.Helper()
	n.enqueue(t, n.registry.TasksForResult(&match.Result{Match: id, Game: game, CountsForLeaderboards: true}, 1))
}

func (n *node) enqueue(t *testing.T, tasks []taskqueue.NewTask) {
	t.Helper()
	if _, err := n.ledger.Tasks.Enqueue(t.Context(), tasks); err != nil {
		t.Error(err)
	}
}

// noTopLists are the top lists of a day without results.
type noTopLists struct{}

func (noTopLists) Top(context.Context, string, string, leaderboard.Kind, int) ([]leaderboard.Entry, int64, error) {
	return nil, 0, nil
}
