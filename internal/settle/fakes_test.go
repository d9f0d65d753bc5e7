package settle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"laststand/internal/match"
	"laststand/internal/taskqueue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	errDown    = errors.New("down")
	errRefused = errors.New("refused")
)

// testEnv is an in-memory fake of everything that a service calls. The functions
// named …Fault return the error of a call; nil means that it succeeds. Tests replace
// them.
type fixture struct {
	mu       sync.Mutex
	pending  map[string]match.Result
	graves   map[string]*taskqueue.Task // by match, which is also the id of the task
	taken    map[string]bool            // matches that the ledger has
	beyond   map[string]bool            // matches whose results the ledger does not count
	batches  []int                      // sizes of the commits that succeeded
	tries    map[string]int             // by match: attempted commits of a batch with only this match
	notified map[string]int
	log      []string // successful calls, in order

	latency time.Duration
	ledger  func(batch []match.Result) error
	settled func() error
	tasks   func() error
	boards  func(game string) error

	standings func() error // for CompleteStandings

	registry *prometheus.Registry
}

func newFixture() *fixture {
	return &fixture{
		pending: map[string]match.Result{}, graves: map[string]*taskqueue.Task{}, taken: map[string]bool{}, beyond: map[string]bool{}, tries: map[string]int{}, notified: map[string]int{},
		ledger:  func([]match.Result) error { return nil },
		settled: func() error { return nil },
		tasks:   func() error { return nil },
		boards:  func(string) error { return nil },

		standings: func() error { return nil },
		registry:  prometheus.NewRegistry(),
	}
}

// start runs a service. stop ends it and waits for its end.
func (f *fixture) start(t *testing.T, tune func(*Config)) (s *Settler, stop func()) {
	t.Helper()
	c := Config{
		Ledger: f, Pending: f, DeadLetters: f, Leaderboards: f, Notify: f.Notify,
		IsUnavailable: func(err error) bool { return errors.Is(err, errDown) },
		IsRefusal:     func(err error) bool { return errors.Is(err, errRefused) },
		Now:           func() int64 { return time.Now().UnixMilli() },
		Logger:        slog.New(slog.DiscardHandler),
		Registry:      f.registry,
	}
	if tune != nil {
		tune(&c)
	}
	s = New(c)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }() // stop waits for it
	stop = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	synctest.Wait()
	return s, stop
}

func (f *fixture) Commit(ctx context.Context, batch []match.Result) ([]Committed, error) {
	select {
	case <-time.After(f.latency):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(batch) == 1 {
		f.tries[batch[0].Match]++
	}
	if err := f.ledger(batch); err != nil {
		return nil, err
	}
	var done []Committed
	for _, r := range batch {
		done = append(done, Committed{Match: r.Match, Counted: r.Counts && !f.beyond[r.Match], New: !f.taken[r.Match]})
		f.taken[r.Match] = true
		f.log = append(f.log, "commit "+r.Match)
	}
	f.batches = append(f.batches, len(batch))
	return done, nil
}

func (f *fixture) Results(_ context.Context, limit int) ([]match.Result, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	oldest := slices.SortedFunc(maps.Values(f.pending), func(a, b match.Result) int { return cmp.Compare(a.OverAt, b.OverAt) })
	return oldest[:min(limit, len(oldest))], nil
}

func (f *fixture) MarkSettled(_ context.Context, results []match.Result) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.settled(); err != nil {
		return err
	}
	for _, r := range results {
		delete(f.pending, r.Match)
		f.log = append(f.log, "settled "+r.Match)
	}
	return nil
}

func (f *fixture) Complete(_ context.Context, r *match.Result) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.standings(); err != nil {
		return err
	}
	r.Standings, r.Paged = make([]match.Standing, 60), false
	return nil
}

func (f *fixture) AddTask(_ context.Context, t taskqueue.Task) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.tasks(); err != nil {
		return false, err
	}
	if f.graves[t.Key] != nil {
		return false, nil
	}
	t.ID = t.Key
	f.graves[t.Key] = &t
	f.log = append(f.log, "bury "+t.Key)
	return true, nil
}

func (f *fixture) Task(_ context.Context, id string) (taskqueue.Task, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.graves[id] == nil {
		return taskqueue.Task{}, taskqueue.ErrNotFound
	}
	return *f.graves[id], f.tasks()
}

func (f *fixture) ChangeTask(_ context.Context, id string, change func(*taskqueue.Task) error) (taskqueue.Task, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.graves[id] == nil {
		return taskqueue.Task{}, taskqueue.ErrNotFound
	}
	t := *f.graves[id]
	if err := change(&t); err != nil {
		return taskqueue.Task{}, err
	}
	*f.graves[id] = t
	return t, nil
}

func (f *fixture) Apply(_ context.Context, game string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log = append(f.log, "apply "+game)
	return f.boards(game)
}

func (f *fixture) Notify(_ context.Context, r match.Result) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.notified[r.Match]++
	f.log = append(f.log, "tell "+r.Match)
}

// endMatch ends a match now. Its result is then pending.
func (f *fixture) over(id string) match.Result {
	r := match.Result{Match: id, Game: "demo", OverAt: time.Now().UnixMilli(), Counts: true, Standings: make([]match.Standing, 2)}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pending[id] = r
	return r
}

// withLock calls a function that reads or changes the environment while the service
// runs.
func (f *fixture) with(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

// checkAllSettled checks that matches m0 to m(n-1) are settled, and their players notified
// once.
func (f *fixture) wantAll(t *testing.T, n int) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.taken) != n || len(f.pending) != 0 || len(f.notified) != n {
		t.Errorf("%d in the ledger, %d pending, %d notified: want %d, 0, %d", len(f.taken), len(f.pending), len(f.notified), n, n)
	}
	for id, times := range f.notified {
		if times != 1 {
			t.Errorf("%s was notified %d times", id, times)
		}
	}
}

func (f *fixture) wantLog(t *testing.T, want ...string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Equal(f.log, want) {
		t.Errorf("done %q, want %q", f.log, want)
	}
}

// metricValue returns the value of a counter or gauge, or the count of a histogram.
func (f *fixture) metric(t *testing.T, name, reason string) float64 {
	t.Helper()
	families, err := f.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() != name || len(m.GetLabel()) > 0 && m.GetLabel()[0].GetValue() != reason {
				continue
			}
			return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	t.Fatalf("no metric %s %s", name, reason)
	return 0
}

func (f *fixture) failures(t *testing.T, reason string) float64 {
	t.Helper()
	return f.metric(t, "laststand_settle_failures_total", reason)
}

func id(n int) string { return fmt.Sprint("m", n) }
