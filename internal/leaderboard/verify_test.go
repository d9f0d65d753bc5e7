package leaderboard

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
)

// verify runs Verify and returns its result and the differences that it reported.
func (g *testGame) verify(t *testing.T) (VerifyResult, []Difference) {
	t.Helper()
	var found []Difference
	result, err := g.Verify(t.Context(), g.cfg.Game, func(difference Difference) { found = append(found, difference) })
	if err != nil {
		t.Fatalf("verify: %v", err)
	}
	if int64(len(found)) != result.Differences {
		t.Errorf("Verify reported %d differences and counted %d", len(found), result.Differences)
	}
	return result, found
}

// newPlayedGame returns a game with some days and all kinds of boards.
func newPlayedGame(t *testing.T) *testGame {
	t.Helper()
	game := newTestGame(weightedConfig())
	game.playHistory(newRandom(11), 4, func() {})
	for _, kind := range Kinds() {
		for range 3 {
			game.ledger.addResult(kind, "x", 7) // ranked in every order, on every board
			game.ledger.addResult(kind, "y", 9)
		}
		game.ledger.addResult(kind, "z", 1) // too few questions for some orders
	}
	game.apply(t)
	game.maintain(t)
	return game
}

func TestVerifyFindsNoDifferenceOnCorrectBoards(t *testing.T) {
	t.Parallel()
	game := newPlayedGame(t)
	result, found := game.verify(t)
	if len(found) > 0 {
		t.Errorf("found %v", found)
	}
	if result.Pos != int64(len(game.ledger.rows)) || result.Boards != int64(2*len(game.cfg.coverage(game.servedBoardSet().state.Progress).boards(Players))) || result.Entries == 0 {
		t.Errorf("Verify returned %+v", result)
	}
}

// corruptions change the entry or a ranking of x on a board. The key begins with the field
// that Verify must name.
var corruptions = map[string]func(c *memoryBoardSet, b Board){
	"entry: score":      func(c *memoryBoardSet, b Board) { corruptEntry(c, b, func(h *BoardEntry) { h.Aggregates.Score++ }) },
	"entry: time_ms":    func(c *memoryBoardSet, b Board) { corruptEntry(c, b, func(h *BoardEntry) { h.Aggregates.TimeMS-- }) },
	"entry: limit_ms":   func(c *memoryBoardSet, b Board) { corruptEntry(c, b, func(h *BoardEntry) { h.Aggregates.LimitMS++ }) },
	"entry: matches":    func(c *memoryBoardSet, b Board) { corruptEntry(c, b, func(h *BoardEntry) { h.Aggregates.Matches++ }) },
	"entry: asked":      func(c *memoryBoardSet, b Board) { corruptEntry(c, b, func(h *BoardEntry) { h.Aggregates.Asked++ }) },
	"entry: answered":   func(c *memoryBoardSet, b Board) { corruptEntry(c, b, func(h *BoardEntry) { h.Aggregates.Answered-- }) },
	"entry: correct":    func(c *memoryBoardSet, b Board) { corruptEntry(c, b, func(h *BoardEntry) { h.Aggregates.Correct++ }) },
	"entry: newest":     func(c *memoryBoardSet, b Board) { corruptEntry(c, b, func(h *BoardEntry) { h.Newest-- }) },
	"entry":             func(c *memoryBoardSet, b Board) { delete(c.boards[b], "x") },
	"entries":           func(c *memoryBoardSet, b Board) { c.boards[b]["nobody"] = c.boards[b]["x"] },
	"key by value":      func(c *memoryBoardSet, b Board) { c.rankings[b][ByValue][c.boards[b]["x"].Member()]++ },
	"key by score":      func(c *memoryBoardSet, b Board) { delete(c.rankings[b][ByScore], c.boards[b]["x"].Member()) },
	"key by time":       func(c *memoryBoardSet, b Board) { c.rankings[b][ByTime][c.boards[b]["z"].Member()] = 9 },
	"ranked by matches": func(c *memoryBoardSet, b Board) { c.rankings[b][ByMatches]["0000000000000001:x"] = -9 },
}

func corruptEntry(boardSet *memoryBoardSet, board Board, change func(*BoardEntry)) {
	entry := boardSet.boards[board]["x"]
	change(&entry)
	boardSet.boards[board]["x"] = entry
}

func TestVerifyFindsEveryCorruptionOnEveryBoard(t *testing.T) {
	t.Parallel()
	game := newPlayedGame(t)
	progress := game.servedBoardSet().state.Progress
	spans := []string{string(All), progress.Watermark.Day, RollingSpan("2d", 0), RollingSpan("2d", 1), RollingSpan("5d", 0), RollingSpan("5d", 1)}
	for _, kind := range Kinds() {
		for _, span := range spans {
			for name, corrupt := range corruptions {
				field, _, _ := strings.Cut(name, ": ")
				game.rebuild(t)
				board := Board{kind, span}
				corrupt(game.servedBoardSet(), board)
				_, found := game.verify(t)
				isExpected := func(difference Difference) bool {
					return difference.Board == board && difference.Field == field && difference.Want != difference.Have
				}
				if !slices.ContainsFunc(found, isExpected) {
					t.Errorf("%s of %v: found %v", name, board, found)
				}
				for _, difference := range found {
					if difference.Board != board {
						t.Errorf("%s of %v: also found %v", name, board, difference)
					}
				}
			}
		}
	}
}

func TestVerifyFindsTheEntriesOfALostDayBoard(t *testing.T) {
	t.Parallel()
	game := newPlayedGame(t)
	boardSet := game.servedBoardSet()
	lostBoard := Board{Players, boardSet.state.OldestDay}
	want := int64(len(boardSet.boards[lostBoard]))
	delete(boardSet.boards, lostBoard)
	delete(boardSet.rankings, lostBoard)
	_, found := game.verify(t)
	entries := slices.DeleteFunc(slices.Clone(found), func(difference Difference) bool { return difference.Field != "entry" })
	if want == 0 || int64(len(entries)) != want {
		t.Errorf("%d entries of a lost day: found %v", want, found)
	}
}

func TestVerifyFindsNoDifferenceWhileRowsAreApplied(t *testing.T) {
	t.Parallel()
	game := newPlayedGame(t)
	for i := range 3 * verifyPageHolders {
		game.ledger.addResult(Players, fmt.Sprintf("many%d", i), int64(i))
	}
	game.apply(t)
	otherNode := newTestNode(game.cfg, game.ledger, game.store)
	var writer sync.WaitGroup
	stop := make(chan struct{})
	writer.Go(func() {
		for n := int64(0); ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			game.ledger.addResult(Players, fmt.Sprintf("many%d", n%400), n)
			game.ledger.addResult(Teams, "t1", n)
			game.ledger.correct(1 + n*7%game.ledger.rowCount())
			if n%20 == 19 {
				game.ledger.startDays(1)
			}
			if err := otherNode.Apply(t.Context(), game.cfg.Game); err != nil {
				t.Error(err)
				return
			}
			if err := otherNode.boards.maintainDays(t.Context()); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 5 {
		var found []Difference
		_, err := game.Verify(t.Context(), game.cfg.Game, func(difference Difference) { found = append(found, difference) })
		if err != nil && !errors.Is(err, ErrNotReady) {
			t.Error(err)
		}
		if len(found) > 0 {
			t.Errorf("found %v", found[:min(5, len(found))])
		}
	}
	close(stop)
	writer.Wait()
}

func TestRowsCommittedDuringVerifyAreNoDifference(t *testing.T) {
	t.Parallel()
	game := newPlayedGame(t)
	size := game.ledger.rowCount()
	inspections := 0
	game.store.beforeCall = func(method string) error {
		if method != "Inspect" {
			return nil
		}
		if inspections++; inspections != 2 {
			return nil
		}
		game.ledger.addResult(Players, "new", 1)
		game.ledger.startDays(1)
		game.ledger.addResult(Teams, "x", 1)
		for pos := range size {
			if game.ledger.rows[pos].Holder == "y" {
				game.ledger.correct(pos + 1)
			}
		}
		return nil
	}
	if result, found := game.verify(t); len(found) > 0 || result.Pos != size {
		t.Errorf("at %d of %d found %v", result.Pos, size, found)
	}
}

// The ledger renames the rows of an erased player in several steps, and the last step adds
// the moves for the boards. Until the boards have applied the moves, other ids on the boards
// are no difference. Differences of other entries are.
func TestAnErasureIsNoDifference(t *testing.T) {
	t.Parallel()
	game := newPlayedGame(t)
	game.ledger.beginErasure("x", "opaque")
	checkFound := func(step string, want ...string) {
		t.Helper()
		var ids []string
		_, found := game.verify(t)
		for _, difference := range found {
			ids = append(ids, difference.Holder)
		}
		slices.Sort(ids)
		if !slices.Equal(slices.Compact(ids), want) {
			t.Errorf("%s: found %v", step, found)
		}
	}
	checkFound("some rows are renamed")
	game.ledger.erase("x", "opaque", false)
	checkFound("the moves are committed")
	corruptEntry(game.servedBoardSet(), Board{Teams, string(All)}, func(entry *BoardEntry) { entry.Aggregates.Score++ })
	corruptEntry(game.servedBoardSet(), Board{Players, string(All)}, func(entry *BoardEntry) { entry.Aggregates.Score++ })
	checkFound("the team x differs, too", "x")
	corruptEntry(game.servedBoardSet(), Board{Teams, string(All)}, func(entry *BoardEntry) { entry.Aggregates.Score-- })
	corruptEntry(game.servedBoardSet(), Board{Players, string(All)}, func(entry *BoardEntry) { entry.Aggregates.Score-- })
	game.apply(t)
	checkFound("the moves are applied")
	game.checkBoards(t)
}

// Between the commit of an erasure and its application, verifications that run while the
// boards apply it find no difference.
func TestAnErasureDuringVerifyIsNoDifference(t *testing.T) {
	t.Parallel()
	for call := 1; ; call++ {
		game := newPlayedGame(t)
		calls := 0
		game.store.beforeCall = func(method string) error {
			if method == "Inspect" {
				if calls++; calls == call {
					game.ledger.erase("y", "opaque", false)
				}
			}
			return nil
		}
		if _, found := game.verify(t); len(found) > 0 {
			t.Errorf("an erasure before inspection %d: found %v", call, found)
		}
		if calls < call {
			return
		}
	}
}

// A comparison of many players takes longer than the ledger remembers an erasure. Its player
// may have been counted by both ids, or by none.
func TestAnErasureThatTheLedgerHasForgottenIsNoDifference(t *testing.T) {
	t.Parallel()
	for formerID, newID := range map[string]string{"a": "zz", "zz": "a"} {
		game := newPlayedGame(t)
		for i := range verifyPageHolders {
			game.ledger.addResult(Players, fmt.Sprint("p", i), 1)
		}
		game.ledger.addResult(Players, formerID, 7)
		game.apply(t)
		page := 0
		_, err := game.boards.verifier.verify(t.Context(), func(difference Difference) { t.Errorf("%s: found %v", formerID, difference) }, func() error {
			switch page++; page {
			case 2:
				game.ledger.erase(formerID, newID, false)
				game.apply(t)
			case 4:
				game.ledger.erasures = nil
			}
			return nil
		})
		if err != nil || page < 5 {
			t.Errorf("%d pages, %v", page, err)
		}
	}
}

func TestVerifyReturnsNotReadyWithoutServedBoards(t *testing.T) {
	t.Parallel()
	game := newTestGame(weightedConfig())
	failOnDifference := func(difference Difference) { t.Errorf("found %v", difference) }
	if _, err := game.Verify(t.Context(), game.cfg.Game, failOnDifference); !errors.Is(err, ErrNotReady) {
		t.Errorf("without boards: %v", err)
	}
	if _, err := game.Verify(t.Context(), "other", failOnDifference); err == nil || !strings.Contains(err.Error(), "other") {
		t.Errorf("another game: %v", err)
	}
	game = newPlayedGame(t)
	game.ledger.rollBack(int(game.ledger.rowCount()) - 2)
	if _, err := game.Verify(t.Context(), game.cfg.Game, func(Difference) {}); !errors.Is(err, ErrNotReady) {
		t.Errorf("ahead of the ledger: %v", err)
	}
	game = newPlayedGame(t)
	boardSets := maps.Clone(game.store.boardSets)
	game.store.beforeCall = func(method string) error {
		if method == "Inspect" {
			clear(game.store.boardSets)
		}
		return nil
	}
	if _, err := game.Verify(t.Context(), game.cfg.Game, failOnDifference); !errors.Is(err, ErrNotReady) || len(boardSets) == 0 {
		t.Errorf("boards lost during Verify: %v", err)
	}
}
