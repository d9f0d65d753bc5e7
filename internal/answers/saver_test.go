package answers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"laststand/internal/match"
	"laststand/internal/quiz"
)

var (
	errDown    = errors.New("down")
	errRefused = errors.New("refused")
)

// fakeStores is a match store and a ledger in memory.
type fakeStores struct {
	mu       sync.Mutex
	claims   map[string]int64 // end of the claim of each waiting match
	views    map[string]match.View
	totals   map[string]map[string]match.Totals
	records  map[string][]match.Record
	seats    map[string]Seats
	blocks   map[string]Block // by match and index
	repeated int              // blocks that were saved again

	releaseFault func() error
	saveFault    func(blocks []Block) error
}

func newFakeStores() *fakeStores {
	return &fakeStores{
		claims: map[string]int64{}, views: map[string]match.View{}, totals: map[string]map[string]match.Totals{}, records: map[string][]match.Record{},
		seats: map[string]Seats{}, blocks: map[string]Block{},
		releaseFault: func() error { return nil }, saveFault: func([]Block) error { return nil },
	}
}

// addMatch adds a settled match in which every player has answered every question.
func (f *fakeStores) addMatch(id string, players, questions int) {
	plan := &match.Plan{ID: id, Game: "demo"}
	for q := range questions {
		plan.Questions = append(plan.Questions, quiz.DrawnQuestion{Question: &quiz.Question{ID: fmt.Sprint("q", q)}})
	}
	f.claims[id], f.totals[id] = 0, map[string]match.Totals{}
	f.views[id] = match.View{State: match.State{Phase: match.PhaseSettled, Question: questions - 1}, Plan: plan}
	seats := Seats{OverAt: 77, Indexes: map[string]int{}, Erased: map[int]bool{}}
	for i := range players {
		player := fmt.Sprint("p", i)
		seats.Indexes[player], f.totals[id][player] = i, match.Totals{LastAnswered: questions}
		for q := range questions {
			f.records[id] = append(f.records[id], match.Record{Player: player, Question: q, Given: json.RawMessage(`{"choice":1}`), ElapsedMS: int64(i), ArrivedAt: int64(1000*q + i)})
		}
	}
	f.seats[id] = seats
}

func (f *fakeStores) ClaimAnswers(_ context.Context, now, until int64, limit int) (ids []string, waiting int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(f.claims)) {
		if f.claims[id] <= now && len(ids) < limit {
			f.claims[id], ids = until, append(ids, id)
		}
	}
	return ids, int64(len(f.claims)), nil
}

func (f *fakeStores) PostponeAnswers(ctx context.Context, ids []string, until int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		if _, waits := f.claims[id]; waits {
			f.claims[id] = until
		}
	}
	return ctx.Err()
}

func (f *fakeStores) ReleaseAnswers(_ context.Context, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.releaseFault(); err != nil {
		return err
	}
	delete(f.claims, id)
	return nil
}

func (f *fakeStores) Read(_ context.Context, q match.ReadQuery) (match.View, error) {
	view, ok := f.views[q.Match]
	if !ok {
		return view, match.ErrNotFound
	}
	if view.Plan == nil {
		return view, &match.UnreadableError{Reason: match.ReasonNewerForm, Err: errRefused}
	}
	return view, nil
}

func (f *fakeStores) AllTotals(_ context.Context, id string) (map[string]match.Totals, error) {
	return f.totals[id], nil
}

func (f *fakeStores) RecordsOf(_ context.Context, id string, players []string, questions int) (records []match.Record, unreadable int, err error) {
	for _, r := range f.records[id] {
		if slices.Contains(players, r.Player) && r.Question < questions {
			records = append(records, r)
		}
	}
	return records, 0, nil
}

func (f *fakeStores) FindSeats(_ context.Context, _, id string, _ []string) (Seats, error) {
	seats, ok := f.seats[id]
	if !ok {
		return seats, match.ErrNotFound
	}
	return seats, nil
}

func (f *fakeStores) SaveBlocks(_ context.Context, blocks []Block) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.saveFault(blocks); err != nil {
		return err
	}
	for _, b := range blocks {
		key := fmt.Sprint(b.Match, " ", b.Index)
		if former, isStored := f.blocks[key]; isStored {
			f.repeated++
			if !reflect.DeepEqual(former, b) {
				return fmt.Errorf("block %s has changed", key)
			}
		}
		f.blocks[key] = b
	}
	return nil
}

// run runs a saver on the stores for a time.
func (f *fakeStores) run(t *testing.T, duration time.Duration) *Saver {
	t.Helper()
	s := NewSaver(Config{
		Store: f, Ledger: f, IsUnavailable: func(err error) bool {
			return errors.Is(err, errDown) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
		}, Now: func() int64 { return time.Now().UnixMilli() },
		Logger: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(),
	})
	ctx, cancel := context.WithTimeout(t.Context(), duration)
	defer cancel()
	if err := s.Run(ctx); err != nil {
		t.Error(err)
	}
	return s
}

// answersOf counts the stored answers of a match.
func (f *fakeStores) answersOf(id string) (n int) {
	for _, b := range f.blocks {
		if b.Match == id {
			n += len(b.Answers)
		}
	}
	return n
}

func TestAnswersOfASettledMatchReachTheLedger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStores()
		f.addMatch("large", 230, 30)
		f.addMatch("small", 2, 3)
		f.addMatch("silent", 0, 3)
		f.seats["large"].Erased[7] = true
		f.totals["large"]["p9"] = match.Totals{LastAnswered: 29, HasLeft: true} // left during the last question
		f.totals["small"]["stranger"] = match.Totals{LastAnswered: 1}
		view := f.views["small"]
		view.CloseReason = "forfeit" // question 2 was never revealed
		f.views["small"] = view
		s := f.run(t, 3*time.Second)
		if f.answersOf("large") != 230*30 || f.answersOf("small") != 6 || len(f.blocks) != 5 || len(f.claims) != 0 || f.repeated != 0 {
			t.Errorf("%d and %d answers in %d blocks, %v wait", f.answersOf("large"), f.answersOf("small"), len(f.blocks), f.claims)
		}
		if b := f.blocks["silent 0"]; len(b.Questions) != 3 || len(b.Answers) != 0 {
			t.Errorf("a match without answers: %+v", b)
		}
		for _, a := range f.blocks["large 0"].Answers {
			if (a.Given == nil) != (a.Player == 7) || a.Retracted != (a.Player == 9 && a.Question == 29) {
				t.Errorf("answer %+v", a)
			}
		}
		small := f.blocks["small 0"]
		if len(small.Questions) != 2 || small.OverAt != 77 || small.Game != "demo" {
			t.Errorf("block %+v", small)
		}
		for _, a := range small.Answers {
			if a.Retracted != (a.Question == 2) {
				t.Errorf("answer %+v", a)
			}
		}
		if n := testutil.ToFloat64(s.metrics.lost.WithLabelValues(reasonNoStanding)); n != 1 {
			t.Errorf("%v players without a standing", n)
		}
	})
}

// While the ledger or the store fails, answers wait. Later they arrive once.
func TestFailuresDelayAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStores()
		f.addMatch("m1", 120, 2)
		f.addMatch("m2", 2, 2)
		f.saveFault = func([]Block) error { return errDown }
		s := f.run(t, 3*time.Second)
		if len(f.blocks) != 0 || len(f.claims) != 2 || testutil.ToFloat64(s.metrics.failures.WithLabelValues(reasonUnavailable)) == 0 {
			t.Errorf("%d blocks, %v wait", len(f.blocks), f.claims)
		}
		f.saveFault, f.releaseFault = func([]Block) error { return nil }, func() error { return errDown }
		f.run(t, 2*retryDelay)
		f.releaseFault = func() error { return nil }
		f.run(t, 2*retryDelay)
		if f.answersOf("m1") != 240 || f.answersOf("m2") != 4 || len(f.claims) != 0 || f.repeated == 0 {
			t.Errorf("%d and %d answers, %d blocks repeated, %v wait", f.answersOf("m1"), f.answersOf("m2"), f.repeated, f.claims)
		}
	})
}

// Readers find a match by its first block. It is saved last, and never without the others.
func TestTheFirstBlockIsSavedLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStores()
		f.addMatch("full", 500, 60)
		f.addMatch("gap", 500, 60)
		saves := 0
		f.saveFault = func(blocks []Block) error {
			saves++
			for _, b := range blocks {
				switch {
				case b.Match == "gap" && b.Index == 4:
					return errRefused
				case b.Match == "full" && b.Index == 0 && len(f.blocks)+len(blocks) < 5:
					t.Errorf("block 0 is saved after %d others", len(f.blocks))
				}
			}
			return nil
		}
		f.run(t, 3*time.Second)
		if _, isStored := f.blocks["gap 0"]; isStored || f.answersOf("full") != 500*60 || saves < 4 {
			t.Errorf("%d answers in %d calls, %v wait", f.answersOf("full"), saves, f.claims)
		}
	})
}

// A match that the ledger refuses, does not know yet, or that is unreadable or expired does
// not hold up others.
func TestABadMatchHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStores()
		for _, id := range []string{"expired", "good", "refused", "unreadable", "unsettled"} {
			f.addMatch(id, 110, 2)
		}
		delete(f.views, "expired")
		delete(f.seats, "unsettled")
		f.views["unreadable"] = match.View{}
		f.saveFault = func(blocks []Block) error {
			if slices.ContainsFunc(blocks, func(b Block) bool { return b.Match == "refused" && b.Index == 1 }) {
				return errRefused
			}
			return nil
		}
		s := f.run(t, 3*time.Second)
		if waiting := slices.Sorted(maps.Keys(f.claims)); f.answersOf("good") != 220 || !slices.Equal(waiting, []string{"refused", "unreadable", "unsettled"}) {
			t.Errorf("%d answers, %q wait", f.answersOf("good"), waiting)
		}
		for reason, counter := range map[string]*prometheus.CounterVec{
			reasonExpired: s.metrics.lost, reasonNotSettled: s.metrics.failures, reasonRefused: s.metrics.failures, reasonUnreadable: s.metrics.failures,
		} {
			if n := testutil.ToFloat64(counter.WithLabelValues(reason)); n != 1 {
				t.Errorf("%s: %v", reason, n)
			}
		}
	})
}
