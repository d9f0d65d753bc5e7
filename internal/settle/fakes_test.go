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

// world is all that a settler talks to, in memory, with faults to switch on.
type world struct {
	mu      sync.Mutex
	pending map[string]match.Result
	graves  map[string]*taskqueue.Task // by match, which is the id too
	taken   map[string]bool            // by the ledger
	beyond  map[string]bool            // of a limit, by the ledger
	batches []int                      // sizes of the commits that succeeded
	tries   map[string]int             // commits of a match alone
	told    map[string]int
	log     []string // what was done, in order

	latency time.Duration
	ledger  func(batch []match.Result) error
	settled func() error
	tasks   func() error
	boards  func(game string) error

	standings func() error // of results that died without

	registry *prometheus.Registry
}

func newWorld() *world {
	return &world{
		pending: map[string]match.Result{}, graves: map[string]*taskqueue.Task{}, taken: map[string]bool{}, beyond: map[string]bool{}, tries: map[string]int{}, told: map[string]int{},
		ledger:  func([]match.Result) error { return nil },
		settled: func() error { return nil },
		tasks:   func() error { return nil },
		boards:  func(string) error { return nil },

		standings: func() error { return nil },
		registry:  prometheus.NewRegistry(),
	}
}

// start runs a settler until stop, which waits for its end.
func (w *world) start(t *testing.T, tune func(*Config)) (s *Settler, stop func()) {
	t.Helper()
	c := Config{
		Ledger: w, Pending: w, Tasks: w, Boards: w, Tell: w.Tell,
		Down:     func(err error) bool { return errors.Is(err, errDown) },
		Refuses:  func(err error) bool { return errors.Is(err, errRefused) },
		Now:      func() int64 { return time.Now().UnixMilli() },
		Logger:   slog.New(slog.DiscardHandler),
		Registry: w.registry,
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

func (w *world) Commit(ctx context.Context, batch []match.Result) ([]Committed, error) {
	select {
	case <-time.After(w.latency):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(batch) == 1 {
		w.tries[batch[0].Match]++
	}
	if err := w.ledger(batch); err != nil {
		return nil, err
	}
	var done []Committed
	for _, r := range batch {
		done = append(done, Committed{Match: r.Match, Counted: r.Counts && !w.beyond[r.Match], New: !w.taken[r.Match]})
		w.taken[r.Match] = true
		w.log = append(w.log, "commit "+r.Match)
	}
	w.batches = append(w.batches, len(batch))
	return done, nil
}

func (w *world) Results(_ context.Context, limit int) ([]match.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	oldest := slices.SortedFunc(maps.Values(w.pending), func(a, b match.Result) int { return cmp.Compare(a.OverAt, b.OverAt) })
	return oldest[:min(limit, len(oldest))], nil
}

func (w *world) Settled(_ context.Context, results []match.Result) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.settled(); err != nil {
		return err
	}
	for _, r := range results {
		delete(w.pending, r.Match)
		w.log = append(w.log, "settled "+r.Match)
	}
	return nil
}

func (w *world) Complete(_ context.Context, r *match.Result) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.standings(); err != nil {
		return err
	}
	r.Standings, r.Paged = make([]match.Standing, 60), false
	return nil
}

func (w *world) AddTask(_ context.Context, t taskqueue.Task) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.tasks(); err != nil {
		return false, err
	}
	if w.graves[t.Key] != nil {
		return false, nil
	}
	t.ID = t.Key
	w.graves[t.Key] = &t
	w.log = append(w.log, "bury "+t.Key)
	return true, nil
}

func (w *world) Task(_ context.Context, id string) (taskqueue.Task, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.graves[id] == nil {
		return taskqueue.Task{}, taskqueue.ErrNotFound
	}
	return *w.graves[id], w.tasks()
}

func (w *world) ChangeTask(_ context.Context, id string, change func(*taskqueue.Task) error) (taskqueue.Task, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.graves[id] == nil {
		return taskqueue.Task{}, taskqueue.ErrNotFound
	}
	t := *w.graves[id]
	if err := change(&t); err != nil {
		return taskqueue.Task{}, err
	}
	*w.graves[id] = t
	return t, nil
}

func (w *world) Apply(_ context.Context, game string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, "apply "+game)
	return w.boards(game)
}

func (w *world) Tell(_ context.Context, r match.Result) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told[r.Match]++
	w.log = append(w.log, "tell "+r.Match)
}

// over ends a match now: its result is pending.
func (w *world) over(id string) match.Result {
	r := match.Result{Match: id, Game: "demo", OverAt: time.Now().UnixMilli(), Counts: true, Standings: make([]match.Standing, 2)}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending[id] = r
	return r
}

// with looks at the world, or changes a fault, while the settler runs.
func (w *world) with(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// wantAll checks that matches m0 to m(n-1) are settled and told once.
func (w *world) wantAll(t *testing.T, n int) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.taken) != n || len(w.pending) != 0 || len(w.told) != n {
		t.Errorf("%d in the ledger, %d pending, %d told: want %d, 0, %d", len(w.taken), len(w.pending), len(w.told), n, n)
	}
	for id, times := range w.told {
		if times != 1 {
			t.Errorf("%s was told %d times", id, times)
		}
	}
}

func (w *world) wantLog(t *testing.T, want ...string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(w.log, want) {
		t.Errorf("done %q, want %q", w.log, want)
	}
}

// metric is the value of a counter or gauge, the count of a histogram.
func (w *world) metric(t *testing.T, name, reason string) float64 {
	t.Helper()
	families, err := w.registry.Gather()
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

func (w *world) failures(t *testing.T, reason string) float64 {
	t.Helper()
	return w.metric(t, "laststand_settle_failures_total", reason)
}

func id(n int) string { return fmt.Sprint("m", n) }
