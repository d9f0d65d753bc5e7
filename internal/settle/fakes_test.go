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
	"laststand/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ledgerScore = 7 // in the standings that the ledger of a testEnv returns

var (
	errDown    = errors.New("down")
	errRefused = errors.New("refused")
)

// testEnv is an in-memory fake of everything that a service calls. The functions
// named …Fault return the error of a call; nil means that it succeeds. Tests replace
// them.
type testEnv struct {
	mu            sync.Mutex
	pending       map[string]match.Result
	marked        map[string]match.Result    // as MarkSettled got them
	deadLetters   map[string]*taskqueue.Task // by match, which is also the id of the task
	inLedger      map[string]bool            // matches that the ledger has
	aboveLimit    map[string]bool            // matches whose results the ledger does not count
	batches       []int                      // sizes of the commits that succeeded
	singleCommits map[string]int             // by match: attempted commits of a batch with only this match
	notified      map[string]int
	actions       []string // successful calls, in order

	latency           time.Duration
	ledgerFault       func(batch []match.Result) error
	markSettledFault  func() error
	deadLetterFault   func() error
	leaderboardsFault func(game string) error

	standingsFault func() error // for CompleteStandings

	registry *prometheus.Registry
	stop     func() // ends the service and waits for it
}

func newTestEnv() *testEnv {
	return &testEnv{
		pending: map[string]match.Result{}, marked: map[string]match.Result{}, deadLetters: map[string]*taskqueue.Task{}, inLedger: map[string]bool{}, aboveLimit: map[string]bool{}, singleCommits: map[string]int{}, notified: map[string]int{},
		ledgerFault:       func([]match.Result) error { return nil },
		markSettledFault:  func() error { return nil },
		deadLetterFault:   func() error { return nil },
		leaderboardsFault: func(string) error { return nil },

		standingsFault: func() error { return nil },
		registry:       prometheus.NewRegistry(),
	}
}

// runWithEnv runs a test in virtual time.
func runWithEnv(t *testing.T, test func(t *testing.T, env *testEnv)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, newTestEnv()) })
}

// start runs a service until env.stop or the end of the test.
func (env *testEnv) start(t *testing.T, configure func(*Config)) *Service {
	t.Helper()
	config := Config{
		Ledger: env, Pending: env, DeadLetters: env, Leaderboards: env, Notify: env.Notify,
		IsUnavailable: func(err error) bool {
			return errors.Is(err, errDown) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
		},
		IsRefusal: func(err error) bool { return errors.Is(err, errRefused) },
		Now:       func() int64 { return time.Now().UnixMilli() },
		Logger:    slog.New(slog.DiscardHandler),
		Registry:  env.registry,
	}
	if configure != nil {
		configure(&config)
	}
	service := New(config)
	env.stop = testenv.Run(t, service.Run)
	synctest.Wait()
	return service
}

func (env *testEnv) Commit(ctx context.Context, batch []match.Result) ([]Committed, error) {
	select {
	case <-time.After(env.latency):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	env.mu.Lock()
	defer env.mu.Unlock()
	if len(batch) == 1 {
		env.singleCommits[batch[0].Match]++
	}
	if err := env.ledgerFault(batch); err != nil {
		return nil, err
	}
	var committed []Committed
	for _, result := range batch {
		committed = append(committed, Committed{
			CountsForLeaderboards: result.CountsForLeaderboards && !env.aboveLimit[result.Match], IsNew: !env.inLedger[result.Match],
			Standings: []match.Standing{{Score: ledgerScore}},
		})
		env.inLedger[result.Match] = true
		env.actions = append(env.actions, "commit "+result.Match)
	}
	env.batches = append(env.batches, len(batch))
	return committed, nil
}

func (env *testEnv) ReadResults(_ context.Context, limit int) ([]match.Result, error) {
	env.mu.Lock()
	defer env.mu.Unlock()
	oldest := slices.SortedFunc(maps.Values(env.pending), func(result, b match.Result) int { return cmp.Compare(result.OverAt, b.OverAt) })
	return oldest[:min(limit, len(oldest))], nil
}

func (env *testEnv) MarkSettled(_ context.Context, results []match.Result) error {
	env.mu.Lock()
	defer env.mu.Unlock()
	if err := env.markSettledFault(); err != nil {
		return err
	}
	for _, result := range results {
		delete(env.pending, result.Match)
		env.marked[result.Match] = result
		env.actions = append(env.actions, "settled "+result.Match)
	}
	return nil
}

func (env *testEnv) CompleteStandings(_ context.Context, result *match.Result) error {
	env.mu.Lock()
	defer env.mu.Unlock()
	if err := env.standingsFault(); err != nil {
		return err
	}
	result.Standings, result.Paged = make([]match.Standing, 60), false
	return nil
}

func (env *testEnv) AddTask(_ context.Context, t taskqueue.Task) (bool, error) {
	env.mu.Lock()
	defer env.mu.Unlock()
	if err := env.deadLetterFault(); err != nil {
		return false, err
	}
	if env.deadLetters[t.Key] != nil {
		return false, nil
	}
	t.ID = t.Key
	env.deadLetters[t.Key] = &t
	env.actions = append(env.actions, "dead letter "+t.Key)
	return true, nil
}

func (env *testEnv) Task(_ context.Context, id string) (taskqueue.Task, error) {
	env.mu.Lock()
	defer env.mu.Unlock()
	if env.deadLetters[id] == nil {
		return taskqueue.Task{}, taskqueue.ErrNotFound
	}
	return *env.deadLetters[id], env.deadLetterFault()
}

func (env *testEnv) ChangeTask(_ context.Context, id string, change func(*taskqueue.Task) error) (taskqueue.Task, error) {
	env.mu.Lock()
	defer env.mu.Unlock()
	if env.deadLetters[id] == nil {
		return taskqueue.Task{}, taskqueue.ErrNotFound
	}
	t := *env.deadLetters[id]
	if err := change(&t); err != nil {
		return taskqueue.Task{}, err
	}
	*env.deadLetters[id] = t
	return t, nil
}

func (env *testEnv) Apply(_ context.Context, game string) error {
	env.mu.Lock()
	defer env.mu.Unlock()
	env.actions = append(env.actions, "apply "+game)
	return env.leaderboardsFault(game)
}

func (env *testEnv) Notify(_ context.Context, results []match.Result) {
	env.mu.Lock()
	defer env.mu.Unlock()
	for _, result := range results {
		env.notified[result.Match]++
		env.actions = append(env.actions, "notify "+result.Match)
	}
}

// endMatch ends a match now. Its result is then pending.
func (env *testEnv) endMatch(id string) match.Result {
	result := match.Result{Match: id, Game: "demo", OverAt: time.Now().UnixMilli(), CountsForLeaderboards: true, Standings: make([]match.Standing, 2)}
	env.mu.Lock()
	defer env.mu.Unlock()
	env.pending[id] = result
	return result
}

// withLock calls a function that reads or changes the environment while the service
// runs.
func (env *testEnv) withLock(f func()) {
	env.mu.Lock()
	defer env.mu.Unlock()
	f()
}

// checkAllSettled checks that matches m0 to m(n-1) are settled, and their players notified
// once.
func (env *testEnv) checkAllSettled(t *testing.T, matches int) {
	t.Helper()
	env.mu.Lock()
	defer env.mu.Unlock()
	if len(env.inLedger) != matches || len(env.pending) != 0 || len(env.notified) != matches {
		t.Errorf("%d in the ledger, %d pending, %d notified: want %d, 0, %d", len(env.inLedger), len(env.pending), len(env.notified), matches, matches)
	}
	for id, times := range env.notified {
		if times != 1 {
			t.Errorf("%s was notified %d times", id, times)
		}
	}
}

func (env *testEnv) checkActions(t *testing.T, want ...string) {
	t.Helper()
	env.mu.Lock()
	defer env.mu.Unlock()
	if !slices.Equal(env.actions, want) {
		t.Errorf("actions %q, want %q", env.actions, want)
	}
}

// metricValue returns the value of a counter or gauge, or the count of a histogram.
func (env *testEnv) metricValue(t *testing.T, name, reason string) float64 {
	t.Helper()
	families, err := env.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() != name || len(metric.GetLabel()) > 0 && metric.GetLabel()[0].GetValue() != reason {
				continue
			}
			return metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
		}
	}
	t.Fatalf("no metric %s %s", name, reason)
	return 0
}

func (env *testEnv) failureCount(t *testing.T, reason string) float64 {
	t.Helper()
	return env.metricValue(t, "laststand_settle_failures_total", reason)
}

func matchID(n int) string { return fmt.Sprint("m", n) }
