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

// weighted has every order in a ranking of its own.
func weighted() Config {
	c := valid()
	c.Windows = []Window{All, Day, "2d", "5d"}
	c.Weights = Weights{Score: 2, Accuracy: 3, Speed: 1, Matches: 50}
	c.MinAnswers = 6
	return c
}

// world is one game with its ledger, its boards, and a node that keeps them.
type world struct {
	cfg     Config
	ledger  *annals
	store   *memory
	applier *Applier
	reader  *Reader
}

func newWorld(cfg Config) *world { return onStores(cfg, newAnnals(), newMemory()) }

// onStores is another node on a ledger and a store.
func onStores(cfg Config, l *annals, s *memory) *world {
	now := func() int64 { return 1_760_918_400_000 }
	w := &world{cfg: cfg, ledger: l, store: s}
	w.applier = NewApplier(ApplierOptions{
		Games: []Config{cfg}, Ledger: l, Store: s, Now: now,
		Log: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(),
	})
	w.reader = NewReader(ReaderOptions{
		Games: []Config{cfg}, Source: naive{s}, Forms: s, Archive: NewArchive(l), Now: now,
	})
	return w
}

func (w *world) apply(t *testing.T) {
	t.Helper()
	if err := w.applier.Apply(t.Context(), w.cfg.Game); err != nil {
		t.Fatalf("apply: %v", err)
	}
}

// tend does all the work on the boards that there is.
func (w *world) tend(t *testing.T) {
	t.Helper()
	if err := w.applier.tend(t.Context(), w.cfg); err != nil {
		t.Fatalf("tend: %v", err)
	}
}

// build builds what there is to build, as keepBuilding does.
func (w *world) build(ctx context.Context) error { return w.applier.build(ctx, w.cfg) }

// rebuild builds beside what is served.
func (w *world) rebuild(t *testing.T) {
	t.Helper()
	if err := w.applier.Rebuild(t.Context(), w.cfg.Game); err != nil {
		t.Fatalf("rebuild: %v", err)
	}
	if err := w.build(t.Context()); err != nil {
		t.Fatalf("build: %v", err)
	}
}

// history has players and teams score on as many days, and some of it taken
// back. Between rows it calls each.
func (w *world) history(random *rand.Rand, days int, each func()) {
	for day := range days {
		if day > 0 {
			w.ledger.turns(1)
		}
		for range random.IntN(25) {
			switch random.IntN(6) {
			case 0:
				w.ledger.result(Teams, fmt.Sprint("t", random.IntN(3)), random.Int64N(50))
			case 1:
				w.ledger.correct(1 + random.Int64N(int64(len(w.ledger.rows))))
			default:
				w.ledger.result(Players, fmt.Sprint("p", random.IntN(9)), random.Int64N(20))
			}
			each()
		}
	}
}

func (w *world) served() *memoryCopy { return w.store.copies[w.store.served[w.cfg.Form()]] }

// checkBoards compares every board with the ledger's rows.
func (w *world) checkBoards(t *testing.T) {
	t.Helper()
	c := w.served()
	if c == nil {
		t.Fatal("no boards are served")
	}
	p := c.state.Progress
	if last := w.ledger.rows[len(w.ledger.rows)-1]; p.Mark.Pos != last.Pos || p.Mark.RowID != last.ID {
		t.Fatalf("the boards are at %+v, the ledger at %+v", p.Mark, last)
	}
	reach := w.cfg.reach(p)
	for _, whose := range Kinds() {
		for _, b := range reach.boards(whose) {
			from, wide := reach.wide[b.Span]
			to := p.Mark.Day
			if !wide {
				from, to = b.Span, b.Span
			}
			w.checkBoard(t, b, w.ledger.board(p.Mark.Pos, whose, from, to))
		}
	}
}

// checkBoard compares one board with what it should hold.
func (w *world) checkBoard(t *testing.T, b Board, want map[string]Held) {
	t.Helper()
	c := w.served()
	if have := c.boards[b]; !maps.Equal(want, have) {
		t.Errorf("%v holds\n%v, want\n%v", b, have, want)
	}
	for _, o := range w.cfg.Rankings() {
		ranked := map[string]float64{}
		for _, h := range want {
			if Rankable(o, h.Parts, w.cfg.MinAnswers) {
				ranked[h.Member()] = Key(o, h.Parts, w.cfg.Weights)
			}
		}
		if have := c.ranked[b][o]; !maps.Equal(ranked, have) {
			t.Errorf("%v by %s ranks\n%v, want\n%v", b, o, have, ranked)
		}
	}
}

// page reads a page, which must be there.
func (w *world) page(t *testing.T, q Query) Page {
	t.Helper()
	p, err := w.reader.Page(t.Context(), w.cfg.Game, q)
	if err != nil {
		t.Fatalf("read %+v: %v", q, err)
	}
	return p
}

func ids(p Page) []string {
	all := []string{}
	for _, e := range p.Entries {
		all = append(all, e.ID)
	}
	return all
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }
