package leaderboard

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// weightedConfig has a separate ranking for every order.
func weightedConfig() Config {
	cfg := validConfig()
	cfg.Windows = []Window{All, Day, "2d", "5d"}
	cfg.Weights = Weights{Score: 2, Accuracy: 3, Speed: 1, Matches: 50}
	cfg.MinAnswers = 6
	return cfg
}

// testGame is one game with its ledger, its boards, and a node that maintains them.
type testGame struct {
	*Applier
	cfg    Config
	ledger *fakeLedger
	store  *memoryStore
	boards *gameBoards
	reader *Reader
}

func newTestGame(cfg Config) *testGame { return newTestNode(cfg, newFakeLedger(), newMemoryStore()) }

// newGameWithAllBoards returns a game that has every kind of board, or the given windows.
func newGameWithAllBoards(windows ...Window) *testGame {
	cfg := allBoardsConfig()
	if windows != nil {
		cfg.Windows = windows
	}
	return newTestGame(cfg)
}

// newTestNode returns a node on an existing ledger and store.
func newTestNode(cfg Config, ledger *fakeLedger, store *memoryStore) *testGame {
	applier := newTestApplier(ledger, store, cfg)
	return &testGame{
		Applier: applier, cfg: cfg, ledger: ledger, store: store, boards: applier.games[cfg.Game],
		reader: NewReader([]Config{cfg}, sortingSource{store}, NewArchive(ledger), testNow),
	}
}

// testNow is the time of readers.
func testNow() int64 { return 1_760_918_400_000 }

func newTestApplier(ledger Ledger, store Store, games ...Config) *Applier {
	return NewApplier(ApplierOptions{
		Games: games, Ledger: ledger, Store: store, Registry: prometheus.NewRegistry(),
		Now: func() int64 { return time.Now().UnixMilli() }, Log: slog.New(slog.DiscardHandler),
	})
}

func (g *testGame) apply(t *testing.T) {
	t.Helper()
	if err := g.Apply(t.Context(), g.cfg.Game); err != nil {
		t.Fatalf("apply: %v", err)
	}
}

func (g *testGame) state(t *testing.T) BoardSetState {
	t.Helper()
	state, err := g.store.ServedState(t.Context(), g.cfg.Game, g.cfg.Hash())
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// maintain runs maintenance until there is nothing to do.
func (g *testGame) maintain(t *testing.T) {
	t.Helper()
	if err := g.boards.maintainDays(t.Context()); err != nil {
		t.Fatalf("maintain: %v", err)
	}
}

// build builds requested boards as Run does, but does not sweep old ones.
func (g *testGame) build(ctx context.Context) error { return g.boards.builder.build(ctx) }

// rebuild builds a new board set, which replaces the served one.
func (g *testGame) rebuild(t *testing.T) {
	t.Helper()
	if err := g.Rebuild(t.Context(), g.cfg.Game); err != nil {
		t.Fatalf("rebuild: %v", err)
	}
	if err := g.build(t.Context()); err != nil {
		t.Fatalf("build: %v", err)
	}
}

// playHistory adds random results and corrections of players and teams for a number of days.
// It calls each after every row.
func (g *testGame) playHistory(random *rand.Rand, days int, each func()) {
	for day := range days {
		if day > 0 {
			g.ledger.startDays(1)
		}
		for range random.IntN(25) {
			switch random.IntN(6) {
			case 0:
				g.ledger.addResult(Teams, fmt.Sprint("t", random.IntN(3)), random.Int64N(50))
			case 1:
				g.ledger.correct(1 + random.Int64N(int64(len(g.ledger.rows))))
			default:
				g.ledger.addResult(Players, fmt.Sprint("p", random.IntN(9)), random.Int64N(20))
			}
			each()
		}
	}
}

func (g *testGame) servedBoardSet() *memoryBoardSet {
	return g.store.boardSets[g.store.served[g.cfg.Hash()]]
}

// checkBoards compares every board with the ledger's rows.
func (g *testGame) checkBoards(t *testing.T) {
	t.Helper()
	boardSet := g.servedBoardSet()
	if boardSet == nil {
		t.Fatal("no boards are served")
	}
	progress := boardSet.state.Progress
	if last := g.ledger.rows[len(g.ledger.rows)-1]; progress.Watermark.Pos != last.Pos || progress.Watermark.RowID != last.ID {
		t.Fatalf("the boards are at %+v, the ledger at %+v", progress.Watermark, last)
	}
	(&ledgerModel{cfg: g.cfg, ledger: g.ledger, store: g.store}).compareAll(t)
}

// page reads a page. It fails the test if the read fails.
func (g *testGame) page(t *testing.T, query Query) Page {
	t.Helper()
	page, err := g.reader.Page(t.Context(), g.cfg.Game, query)
	if err != nil {
		t.Fatalf("read %+v: %v", query, err)
	}
	return page
}

func entryIDs(page Page) []string {
	ids := []string{}
	for _, entry := range page.Entries {
		ids = append(ids, entry.ID)
	}
	return ids
}

func newRandom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }
