package eventq

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// cluster is a set of nodes that share a memory, each with a service.
type cluster struct {
	*memory
	t        *testing.T
	policies []Policy
	sinks    map[string]Sink
	shift    atomic.Int64 // of the cluster's clock, ms
}

func newCluster(t *testing.T, policies ...Policy) *cluster {
	w := &cluster{memory: newMemory(), t: t, policies: policies, sinks: map[string]Sink{}}
	for _, policy := range policies {
		w.sinks[policy.Game] = &sink{}
	}
	return w
}

func policyOf(game string) Policy {
	return Policy{Game: game, MaxLen: 10_000, Overflow: DropOldest, BatchSize: MaxBatch, FlushMS: 1000, MaxAgeMS: 170_000, Report: []string{Online, "answer"}}
}

// numbered returns the policies of n games.
func numbered(games int) (all []Policy) {
	for i := range games {
		all = append(all, policyOf(fmt.Sprint("g", i)))
	}
	return all
}

func (w *cluster) now() int64 { return time.Now().UnixMilli() + w.shift.Load() }

func (w *cluster) sink(game string) *sink { return w.sinks[game].(*sink) }

// fakeStore adds the methods that a service without players does not use to a memory.
type fakeStore struct {
	*memory
	unused
}

type unused struct {
	Admin
	Nodes
}

// node is a service that runs until it is stopped.
type node struct {
	*Service
	registry *prometheus.Registry
	stop     func()
}

// service returns a node that does not run yet.
func (w *cluster) service(name string) *node {
	registry := prometheus.NewRegistry()
	return &node{registry: registry, Service: New(Config{
		Games: w.policies, Sinks: w.sinks, Queue: w.memory, Admin: fakeStore{memory: w.memory}, Nodes: fakeStore{memory: w.memory}, Node: name,
		Now: w.now, Logger: slog.New(slog.DiscardHandler), Registry: registry,
	})}
}

// run runs a node until stop, which waits for its end.
func (w *cluster) run(n *node) (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }() // stop waits for it
	synctest.Wait()
	return sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Error(err)
		}
	})
}

func (w *cluster) start(name string) *node {
	n := w.service(name)
	n.stop = w.run(n)
	return n
}

// offer offers n behaviours of a game, named by number from first on.
func (n *node) offer(game string, first, count int) {
	for i := range count {
		n.Offer(game, Behaviour{ID: id(first + i), Type: Online, Account: Guest})
	}
}

func id(n int) string { return fmt.Sprintf("b%06d", n) }

func ids(first, count int) (all []string) {
	for i := range count {
		all = append(all, id(first+i))
	}
	return all
}

// counts returns the counts of a game, and checks that they add up.
func (w *cluster) counts(game string) Counts {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.game(game).count()
	sum := c.Sent + c.Queued + c.InFlight
	for _, n := range c.Dropped {
		sum += n
	}
	if c.Offered != sum {
		w.t.Errorf("%s: %+v does not add up", game, c)
	}
	return c
}

// want checks the counts of a game. Counts that are not named must be 0.
func (w *cluster) want(game string, want Counts) {
	w.t.Helper()
	got := w.counts(game)
	if got.Offered != want.Offered || got.Sent != want.Sent || got.Queued != want.Queued || got.InFlight != want.InFlight {
		w.t.Errorf("%s: %+v, want %+v", game, got, want)
	}
	for _, reason := range Reasons() {
		if got.Dropped[reason] != want.Dropped[reason] {
			w.t.Errorf("%s: %d dropped as %s, want %d", game, got.Dropped[reason], reason, want.Dropped[reason])
		}
	}
}

func (w *cluster) set(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// attempt is one call of a sink.
type attempt struct {
	batch  string
	ids    []string
	at     time.Time
	now    int64
	oldest int64 // age of its oldest item, ms
}

// sink answers as configured, and records its calls.
type sink struct {
	mu         sync.Mutex
	attempts   []attempt
	answer     func(ctx context.Context, n int, b Batch) Outcome // the n-th try; nil: all arrive
	check      func(Behaviour) error
	running    int // tries under way
	maxRunning int
}

func (s *sink) Check(b Behaviour) error {
	if s.check == nil {
		return nil
	}
	return s.check(b)
}

func (s *sink) Send(ctx context.Context, b Batch) Outcome {
	s.mu.Lock()
	t := attempt{batch: b.ID, at: time.Now(), now: b.Now}
	for _, item := range b.Items {
		t.ids = append(t.ids, nameOf(item))
		t.oldest = max(t.oldest, b.Now-item.At)
	}
	s.attempts = append(s.attempts, t)
	n, answer := len(s.attempts), s.answer
	s.running++
	s.maxRunning = max(s.maxRunning, s.running)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.running--
	}()
	if answer == nil {
		return arrived
	}
	return answer(ctx, n, b)
}

// nameOf returns the id of an item, or its device in place of a generated id.
func nameOf(item Item) string {
	var b Behaviour
	if !item.Unique && json.Unmarshal(item.Body, &b) == nil && b.Device != "" {
		return b.Device
	}
	return item.ID
}

func (s *sink) Close() error { return nil }

func (s *sink) allAttempts() []attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.attempts)
}

// ids returns the ids of all attempts, in order.
func (s *sink) ids() (all []string) {
	for _, t := range s.allAttempts() {
		all = append(all, t.ids...)
	}
	return all
}

func (s *sink) sizes() (all []int) {
	for _, t := range s.allAttempts() {
		all = append(all, len(t.ids))
	}
	return all
}

var arrived = Outcome{Delivery: Delivered, Code: "200"}

// answerFirst answers the first attempt with o. Later attempts deliver everything.
func answerFirst(o Outcome) func(context.Context, int, Batch) Outcome {
	return func(_ context.Context, n int, _ Batch) Outcome {
		if n == 1 {
			return o
		}
		return arrived
	}
}

// answerSlowly takes d for each attempt.
func answerSlowly(d time.Duration) func(context.Context, int, Batch) Outcome {
	return func(ctx context.Context, _ int, _ Batch) Outcome {
		wait(ctx, d)
		return arrived
	}
}

// wait waits for d, or until the attempt ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// metric sums a metric of a node over its labels, or those with a value of one.
func (n *node) metric(t *testing.T, name, label string) (sum float64) {
	t.Helper()
	families, err := n.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			named := label == ""
			for _, l := range m.GetLabel() {
				named = named || l.GetValue() == label
			}
			if f.GetName() == prefix+name && named {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return sum
}
