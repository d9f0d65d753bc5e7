package webhook

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/leaderboard"
	"laststand/internal/taskqueue"
)

const game = "com.example.quiz"

var errAway = errors.New("the database is down")

// fixture is a dispatcher with fakes of all interfaces of its Config. respond decides
// the reply to each message. Each top list has one entry.
type fixture struct {
	*queue

	registry   *Registry
	dispatcher *Dispatcher
	answer     func(ctx context.Context, e Endpoint, m Message) Reply

	mu       sync.Mutex
	away     bool // reads of states and top lists fail
	hangs    bool // reading the states takes an hour
	disabled map[string]State
	sent     []sentMessage
	under    map[string]int // attempts in progress, by endpoint
	most     map[string]int // largest number of concurrent attempts, by endpoint
}

func newFixture(t *testing.T, endpoints ...Endpoint) *fixture {
	t.Helper()
	w := &fixture{
		queue: &queue{failed: map[string][]taskqueue.FailedAttempt{}}, disabled: map[string]State{},
		under: map[string]int{}, most: map[string]int{},
		answer: func(context.Context, Endpoint, Message) Reply { return Reply{Status: 204} },
	}
	var err error
	if w.registry, err = NewRegistry(endpoints, prometheus.NewRegistry()); err != nil {
		t.Fatal(err)
	}
	w.dispatcher = NewDispatcher(Config{
		Registry: w.registry, EndpointStates: w, TaskCounter: w, Queue: w.queue, TopLists: w, Poster: w, Logger: slog.New(slog.DiscardHandler),
	})
	return w
}

// sentMessage is a message as it was sent.
type sentMessage struct {
	Message

	at time.Time
}

// runWithWorkers runs a test with a dispatcher and workers, in virtual time, from midnight
// UTC 2000-01-01 on.
func run(t *testing.T, endpoints []Endpoint, f func(t *testing.T, w *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, endpoints...)
		workers := taskqueue.NewWorkers(taskqueue.Config{
			Store: w.queue, Notifier: &w.notifier, Kinds: w.dispatcher.Services(), PollInterval: time.Hour, GracePeriod: time.Second,
			Logger: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(),
		})
		ctx, end := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = workers.Run(ctx) })
		f(t, w)
		end()
		running.Wait()
	})
}

// withFakeTime runs a test in virtual time, without workers, with the endpoints of
// oneEndpoint.
func withFakeTime(t *testing.T, f func(t *testing.T, w *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newFixture(t, oneEndpoint()...)) })
}

func (w *fixture) Post(ctx context.Context, e Endpoint, m Message) Reply {
	w.mu.Lock()
	w.sent = append(w.sent, sentMessage{m, time.Now()})
	w.under[e.Name]++
	w.most[e.Name] = max(w.most[e.Name], w.under[e.Name])
	answer := w.answer
	w.mu.Unlock()
	reply := answer(ctx, e, m)
	w.mu.Lock()
	w.under[e.Name]--
	w.mu.Unlock()
	return reply
}

func (w *fixture) Host(e Endpoint) string { return "https://" + e.Name + ".test" }

// setReplies sets the reply to all messages from now on.
func (w *fixture) setReplies(r Reply) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answer = func(context.Context, Endpoint, Message) Reply { return r }
}

// posts returns all sent messages after all goroutines of the test have blocked.
func (w *fixture) posts() []sentMessage {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.sent)
}

// maxConcurrent returns the largest number of concurrent attempts to an endpoint.
func (w *fixture) maxConcurrent(endpoint string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.most[endpoint]
}

func (w *fixture) setUnavailable(away bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.away = away
}

func (w *fixture) isDisabled(endpoint string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, is := w.disabled[game+endpoint]
	return is
}

func (w *fixture) EndpointStates(ctx context.Context) ([]State, error) {
	if w.hangs {
		select {
		case <-time.After(time.Hour):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away {
		return nil, errAway
	}
	return slices.Collect(maps.Values(w.disabled)), nil
}

func (w *fixture) DisableEndpoint(_ context.Context, game, name, cause string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away {
		return errAway
	}
	if _, is := w.disabled[game+name]; !is {
		w.disabled[game+name] = State{Game: game, Name: name, Disabled: cause, Since: time.Now().UnixMilli()}
	}
	return nil
}

func (w *fixture) EnableEndpoint(_ context.Context, game, name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away {
		return errAway
	}
	delete(w.disabled, game+name)
	return nil
}

// enableElsewhere enables an endpoint at another node; this node has not
// read the change yet.
func (w *fixture) enableElsewhere(t *testing.T, endpoint string) {
	t.Helper()
	if _, err := w.dispatcher.Disable(t.Context(), game, endpoint, ""); err != nil {
		t.Fatal(err)
	}
	if err := w.EnableEndpoint(t.Context(), game, endpoint); err != nil {
		t.Fatal(err)
	}
}

func (w *fixture) CountTasks(_ context.Context, topic string, upTo int) (waiting, dead int64, err error) {
	if w.away {
		return 0, 0, errAway
	}
	return int64(len(topic)), int64(upTo), nil
}

func (w *fixture) Top(_ context.Context, _, date string, kind leaderboard.Kind, n int) ([]leaderboard.TopEntry, int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away {
		return nil, 0, errAway
	}
	parts := leaderboard.Aggregates{Score: 7, TimeMS: 6, LimitMS: 50, Matches: 1, Asked: 3, Answered: 2, Correct: 1}
	entry := leaderboard.TopEntry{Rank: 1, Holder: string(kind) + date, Name: "Ada", Value: int64(n), Aggregates: parts}
	return []leaderboard.TopEntry{entry}, 5, nil
}
