package leaderboard

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// weightedConfig has a separate ranking for every order.
func weightedConfig() Config {
	c := validConfig()
	c.Windows = []Window{All, Day, "2d", "5d"}
	c.Weights = Weights{Score: 2, Accuracy: 3, Speed: 1, Matches: 50}
	c.MinAnswers = 6
	return c
}

// testGame is one game with its ledger, its boards, and a node that maintains them.
type testGame struct {
	cfg     Config
	ledger  *dayLedger
	store   *memoryStore
	applier *Applier
	reader  *Reader
}

func newTestGame(cfg Config) *testGame { return newTestNode(cfg, newDayLedger(), newMemoryStore()) }

// newTestNode returns another node on the same ledger and store.
func newTestNode(cfg Config, l *dayLedger, s *memoryStore) *testGame {
	now := func() int64 { return 1_760_918_400_000 }
	w := &testGame{cfg: cfg, ledger: l, store: s}
	w.applier = NewApplier(ApplierOptions{
		Games: []Config{cfg}, Ledger: l, Store: s, Now: now,
		Log: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(),
	})
	w.reader = NewReader(ReaderOptions{
		Games: []Config{cfg}, Source: sortingSource{s}, Configs: s, Archive: NewArchive(l), Now: now,
	})
	return w
}

func (w *testGame) apply(t *testing.T) {
	t.Helper()
	if err := w.applier.Apply(t.Context(), w.cfg.Game); err != nil {
		t.Fatalf("apply: %v", err)
	}
}

// maintain runs maintenance until there is nothing to do.
func (w *testGame) maintain(t *testing.T) {
	t.Helper()
	if err := w.applier.maintain(t.Context(), w.cfg); err != nil {
		t.Fatalf("maintain: %v", err)
	}
}

// build builds requested boards, like buildAndSweep.
func (w *testGame) build(ctx context.Context) error { return w.applier.build(ctx, w.cfg) }

// rebuild replaces the served boards.
func (w *testGame) rebuild(t *testing.T) {
	t.Helper()
	if err := w.applier.Rebuild(t.Context(), w.cfg.Game); err != nil {
		t.Fatalf("rebuild: %v", err)
	}
	if err := w.build(t.Context()); err != nil {
		t.Fatalf("build: %v", err)
	}
}

// playHistory adds results and corrections of players and teams for some days. It calls
// each between rows.
func (w *testGame) playHistory(random *rand.Rand, days int, each func()) {
	for day := range days {
		if day > 0 {
			w.ledger.startDays(1)
		}
		for range random.IntN(25) {
			switch random.IntN(6) {
			case 0:
				w.ledger.addResult(Teams, fmt.Sprint("t", random.IntN(3)), random.Int64N(50))
			case 1:
				w.ledger.correct(1 + random.Int64N(int64(len(w.ledger.rows))))
			default:
				w.ledger.addResult(Players, fmt.Sprint("p", random.IntN(9)), random.Int64N(20))
			}
			each()
		}
	}
}

func (w *testGame) servedCopy() *memoryCopy { return w.store.copies[w.store.served[w.cfg.Hash()]] }

// checkBoards compares every board with the ledger's rows.
func (w *testGame) checkBoards(t *testing.T) {
	t.Helper()
	c := w.servedCopy()
	if c == nil {
		t.Fatal("no boards are served")
	}
	p := c.state.Progress
	if last := w.ledger.rows[len(w.ledger.rows)-1]; p.Mark.Pos != last.Pos || p.Mark.RowID != last.ID {
		t.Fatalf("the boards are at %+v, the ledger at %+v", p.Mark, last)
	}
	reach := w.cfg.coverage(p)
	for _, kind := range Kinds() {
		for _, b := range reach.boards(kind) {
			from, wide := reach.multiDay[b.Span]
			to := p.Mark.Day
			if !wide {
				from, to = b.Span, b.Span
			}
			w.checkBoard(t, b, w.ledger.expectedBoard(p.Mark.Pos, kind, from, to))
		}
	}
}

// checkBoard compares one board with what it should hold.
func (w *testGame) checkBoard(t *testing.T, b Board, want map[string]BoardEntry) {
	t.Helper()
	c := w.servedCopy()
	if have := c.boards[b]; !maps.Equal(want, have) {
		t.Errorf("%v holds\n%v, want\n%v", b, have, want)
	}
	for _, o := range w.cfg.Rankings() {
		ranked := map[string]float64{}
		for _, h := range want {
			if Rankable(o, h.Aggregates, w.cfg.MinAnswers) {
				ranked[h.Member()] = Key(o, h.Aggregates, w.cfg.Weights)
			}
		}
		if have := c.ranked[b][o]; !maps.Equal(ranked, have) {
			t.Errorf("%v by %s ranks\n%v, want\n%v", b, o, have, ranked)
		}
	}
}

// page reads a page and fails the test if that fails.
func (w *testGame) page(t *testing.T, q Query) Page {
	t.Helper()
	p, err := w.reader.Page(t.Context(), w.cfg.Game, q)
	if err != nil {
		t.Fatalf("read %+v: %v", q, err)
	}
	return p
}

func entryIDs(p Page) []string {
	all := []string{}
	for _, e := range p.Entries {
		all = append(all, e.ID)
	}
	return all
}

func newRandom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }
