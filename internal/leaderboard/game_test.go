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
	cfg := validConfig()
	cfg.Windows = []Window{All, Day, "2d", "5d"}
	cfg.Weights = Weights{Score: 2, Accuracy: 3, Speed: 1, Matches: 50}
	cfg.MinAnswers = 6
	return cfg
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

// newTestNode returns a node on an existing ledger and store.
func newTestNode(cfg Config, ledger *dayLedger, store *memoryStore) *testGame {
	now := func() int64 { return 1_760_918_400_000 }
	game := &testGame{cfg: cfg, ledger: ledger, store: store}
	game.applier = NewApplier(ApplierOptions{
		Games: []Config{cfg}, Ledger: ledger, Store: store, Now: now,
		Log: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(),
	})
	game.reader = NewReader([]Config{cfg}, sortingSource{store}, NewArchive(ledger), now)
	return game
}

func (g *testGame) boards() *gameBoards { return g.applier.games[g.cfg.Game] }

func (g *testGame) apply(t *testing.T) {
	t.Helper()
	if err := g.applier.Apply(t.Context(), g.cfg.Game); err != nil {
		t.Fatalf("apply: %v", err)
	}
}

// maintain runs maintenance until there is nothing to do.
func (g *testGame) maintain(t *testing.T) {
	t.Helper()
	if err := g.boards().maintainDays(t.Context()); err != nil {
		t.Fatalf("maintain: %v", err)
	}
}

// build builds requested boards as Run does, but does not sweep old ones.
func (g *testGame) build(ctx context.Context) error { return g.boards().builder.build(ctx) }

// rebuild builds a new board set, which replaces the served one.
func (g *testGame) rebuild(t *testing.T) {
	t.Helper()
	if err := g.applier.Rebuild(t.Context(), g.cfg.Game); err != nil {
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
	coverage := g.cfg.coverage(progress)
	for _, kind := range Kinds() {
		for _, covered := range coverage {
			g.checkBoard(t, Board{kind, covered.span}, g.ledger.expectedBoard(progress.Watermark.Pos, kind, covered.firstDay, covered.lastDay))
		}
	}
}

// checkBoard compares one served board and its rankings with the expected entries.
func (g *testGame) checkBoard(t *testing.T, board Board, want map[string]BoardEntry) {
	t.Helper()
	boardSet := g.servedBoardSet()
	if have := boardSet.boards[board]; !maps.Equal(want, have) {
		t.Errorf("%v holds\n%v, want\n%v", board, have, want)
	}
	for _, order := range g.cfg.RankingOrders() {
		ranked := map[string]float64{}
		for _, entry := range want {
			if Rankable(order, entry.Aggregates, g.cfg.MinAnswers) {
				ranked[entry.Member()] = Key(order, entry.Aggregates, g.cfg.Weights)
			}
		}
		if have := boardSet.rankings[board][order]; !maps.Equal(ranked, have) {
			t.Errorf("%v by %s ranks\n%v, want\n%v", board, order, have, ranked)
		}
	}
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
