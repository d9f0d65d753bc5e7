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
	"laststand/internal/testenv"
)

const game = "com.example.quiz"

var errUnavailable = errors.New("the database is down")

// fixture is a dispatcher with fakes of all interfaces of its Config. respond decides
// the reply to each message. Each top list has one entry.
type fixture struct {
	*queue

	registry   *Registry
	dispatcher *Dispatcher
	respond    func(ctx context.Context, e Endpoint, m Message) Reply

	mu            sync.Mutex
	unavailable   bool // reads of states and top lists fail
	hangs         bool // reading the states takes an hour
	disabled      map[string]State
	sent          []sentMessage
	inProgress    map[string]int // attempts in progress, by endpoint
	maxInProgress map[string]int // largest number of concurrent attempts, by endpoint
}

func newFixture(t *testing.T, endpoints ...Endpoint) *fixture {
	t.Helper()
	for i := range endpoints {
		endpoints[i].URL = "https://user:secret@" + endpoints[i].Name + ".test/secret?secret#secret"
	}
	f := &fixture{
		queue: &queue{notifier: taskqueue.NewNotifier(nil), failed: map[string][]taskqueue.FailedAttempt{}}, disabled: map[string]State{},
		inProgress: map[string]int{}, maxInProgress: map[string]int{},
		respond: func(context.Context, Endpoint, Message) Reply { return Reply{Status: 204} },
	}
	var err error
	if f.registry, err = NewRegistry(endpoints, prometheus.NewRegistry()); err != nil {
		t.Fatal(err)
	}
	f.dispatcher = NewDispatcher(Config{
		Registry: f.registry, EndpointStates: f, TaskCounter: f, Queue: f.queue, TopLists: f, Poster: f, Logger: slog.New(slog.DiscardHandler),
	})
	return f
}

// sentMessage is a message as it was sent.
type sentMessage struct {
	Message

	sentAt time.Time
}

// runWithWorkers runs a test with a dispatcher and workers, in virtual time, from midnight
// UTC 2000-01-01 on.
func runWithWorkers(t *testing.T, endpoints []Endpoint, test func(t *testing.T, env *fixture)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		env := newFixture(t, endpoints...)
		testenv.Run(t, taskqueue.NewWorkers(taskqueue.Config{
			Store: env.queue, Notifier: env.notifier, Kinds: env.dispatcher.Services(), PollInterval: time.Hour, GracePeriod: time.Second,
			Logger: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(),
		}).Run)
		test(t, env)
	})
}

// withFakeTime runs a test in virtual time, without workers, with the endpoints of
// oneEndpoint.
func withFakeTime(t *testing.T, test func(t *testing.T, env *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newFixture(t, oneEndpoint()...)) })
}

func (f *fixture) Post(ctx context.Context, e Endpoint, m Message) Reply {
	f.mu.Lock()
	f.sent = append(f.sent, sentMessage{m, time.Now()})
	f.inProgress[e.Name]++
	f.maxInProgress[e.Name] = max(f.maxInProgress[e.Name], f.inProgress[e.Name])
	respond := f.respond
	f.mu.Unlock()
	reply := respond(ctx, e, m)
	f.mu.Lock()
	f.inProgress[e.Name]--
	f.mu.Unlock()
	return reply
}

// setReplies sets the reply to all messages from now on.
func (f *fixture) setReplies(r Reply) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.respond = func(context.Context, Endpoint, Message) Reply { return r }
}

// posts returns all sent messages after all goroutines of the test have blocked.
func (f *fixture) posts() []sentMessage {
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.sent)
}

// maxConcurrent returns the largest number of concurrent attempts to an endpoint.
func (f *fixture) maxConcurrent(endpoint string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.maxInProgress[endpoint]
}

func (f *fixture) setUnavailable(unavailable bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unavailable = unavailable
}

func (f *fixture) isDisabled(endpoint string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, isDisabled := f.disabled[game+endpoint]
	return isDisabled
}

func (f *fixture) EndpointStates(ctx context.Context) ([]State, error) {
	if f.hangs {
		select {
		case <-time.After(time.Hour):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unavailable {
		return nil, errUnavailable
	}
	return slices.Collect(maps.Values(f.disabled)), nil
}

func (f *fixture) DisableEndpoint(_ context.Context, game, name, cause string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unavailable {
		return errUnavailable
	}
	if _, isDisabled := f.disabled[game+name]; !isDisabled {
		f.disabled[game+name] = State{Game: game, Name: name, Disabled: cause, Since: time.Now().UnixMilli()}
	}
	return nil
}

func (f *fixture) EnableEndpoint(_ context.Context, game, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unavailable {
		return errUnavailable
	}
	delete(f.disabled, game+name)
	return nil
}

// enableElsewhere enables an endpoint at another node; this node has not
// read the change yet.
func (f *fixture) enableElsewhere(t *testing.T, endpoint string) {
	t.Helper()
	testenv.Need(f.dispatcher.Disable(t.Context(), game, endpoint, ""))(t)
	testenv.NoError(t, f.EnableEndpoint(t.Context(), game, endpoint))
}

func (f *fixture) CountTasks(_ context.Context, topic string, upTo int) (waiting, dead int64, err error) {
	if f.unavailable {
		return 0, 0, errUnavailable
	}
	return int64(len(topic)), int64(upTo), nil
}

func (f *fixture) Top(_ context.Context, _, date string, kind leaderboard.Kind, limit int) ([]leaderboard.Entry, int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unavailable {
		return nil, 0, errUnavailable
	}
	return []leaderboard.Entry{{
		Rank: 1, ID: string(kind) + date, Nickname: "Ada", Value: int64(limit),
		Score: 7, TimeMS: 6, Matches: 1, Asked: 3, Answered: 2, Correct: 1, Accuracy: 0.3333,
	}}, 5, nil
}
