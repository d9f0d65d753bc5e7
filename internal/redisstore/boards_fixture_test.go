package redisstore_test

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	lb "laststand/internal/leaderboard"
	"laststand/internal/redisstore"
	"laststand/internal/testenv"
)

// mixedConfig has a separate ranking for every order.
func mixedConfig() lb.Config {
	return lb.Config{
		Game:       "g" + strings.ToLower(rand.Text()[:12]),
		Windows:    []lb.Window{lb.All, lb.Day, "2d", "7d"},
		Orders:     lb.Orders(),
		Weights:    lb.Weights{Score: 2, Accuracy: 3, Speed: 1, Matches: 50},
		MinAnswers: 4,
		Location:   time.UTC,
	}
}

// newAggregates returns the aggregates of one result with some correct answers.
func newAggregates(correct int64) lb.Aggregates {
	return lb.Aggregates{Score: 100 * correct, Matches: 1, Asked: 5, Answered: 5, Correct: correct, LimitMS: 5000, TimeMS: 5000 - 300*correct}
}

// storeFixture is a game whose boards a test writes with single transactions.
type storeFixture struct {
	*redisstore.Boards
	rdb       redis.UniversalClient
	cfg       lb.Config
	lastState lb.BoardSetState // state of the board set that was begun last
}

// eachStore runs a test on every kind of Redis.
func eachStore(t *testing.T, test func(t *testing.T, fixture *storeFixture)) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		test(t, &storeFixture{Boards: redisstore.NewBoards(rdb), rdb: rdb, cfg: mixedConfig()})
	})
}

// begin begins a board set for the fixture's current configuration.
func (s *storeFixture) begin(t *testing.T, id string) lb.BoardSet {
	t.Helper()
	s.lastState = lb.BoardSetState{
		BoardSet: lb.BoardSet{Game: s.cfg.Game, ConfigHash: s.cfg.Hash(), ID: id},
		Version:  id + "-0", Loading: true,
		Progress: lb.Progress{Watermark: lb.Watermark{Epoch: "e1"}},
	}
	testenv.NoError(t, s.Begin(t.Context(), s.cfg, s.lastState, 1000))
	return s.lastState.BoardSet
}

// transaction returns a transaction that expects the version of lastState and sets the
// watermark to a position.
func (s *storeFixture) transaction(pos int64, changes ...boardChange) lb.Transaction {
	tx := lb.Transaction{
		ExpectedVersion: s.lastState.Version, Version: fmt.Sprintf("%s-%d", s.lastState.ID, pos), PlannedAt: 2000,
		Progress: s.lastState.Progress, Config: s.cfg, Changes: map[lb.Board]lb.Change{},
	}
	for _, change := range changes {
		tx.Changes[change.board] = change.Change
	}
	tx.Watermark = lb.Watermark{Epoch: "e1", Pos: pos, RowID: fmt.Sprint("r", pos), Day: "2026-11-21"}
	tx.FirstDay, tx.OldestDay = "2026-11-20", "2026-11-20"
	return tx
}

func (s *storeFixture) commit(t *testing.T, txs ...lb.Transaction) {
	t.Helper()
	testenv.NoError(t, s.Commit(t.Context(), s.lastState.BoardSet, txs))
	lastTx := txs[len(txs)-1]
	s.lastState.Version, s.lastState.Progress = lastTx.Version, lastTx.Progress
}

func (s *storeFixture) publish(t *testing.T) {
	t.Helper()
	testenv.NoError(t, s.Publish(t.Context(), s.lastState.BoardSet))
}

// served returns the state of the served board set.
func (s *storeFixture) served(t *testing.T) lb.BoardSetState {
	t.Helper()
	state := testenv.Need(s.ServedState(t.Context(), s.cfg.Game, s.cfg.Hash()))(t)
	return state
}

// publishWith publishes a board set with entries on one board.
func (s *storeFixture) publishWith(t *testing.T, board lb.Board, entries ...lb.BoardEntry) lb.BoardSet {
	t.Helper()
	boardSet := s.begin(t, "first")
	s.commit(t, s.transaction(10, put(board, entries...)))
	s.publish(t)
	return boardSet
}

// boardChange is a change of one board.
type boardChange struct {
	board lb.Board
	lb.Change
}

// put returns the change that adds or replaces entries.
func put(board lb.Board, entries ...lb.BoardEntry) boardChange {
	change := boardChange{board, lb.Change{AsOf: 5000, Entries: map[string]lb.BoardEntry{}}}
	for _, entry := range entries {
		change.Entries[entry.ID] = entry
	}
	return change
}

// remove returns the change that removes entries.
func remove(board lb.Board, entries ...lb.BoardEntry) boardChange {
	change := put(board)
	change.AsOf = 0
	for _, entry := range entries {
		change.Entries[entry.ID] = lb.BoardEntry{ID: entry.ID}
	}
	return change
}

// manyEntries returns n entries, each better than the one before.
func manyEntries(n int) []lb.BoardEntry {
	var entries []lb.BoardEntry
	for i := range n {
		entries = append(entries, lb.BoardEntry{ID: fmt.Sprintf("p%04d", i), Newest: int64(i + 1), Aggregates: newAggregates(int64(i))})
	}
	return entries
}

func (s *storeFixture) rankingID(span string) lb.RankingID {
	return lb.RankingID{Game: s.cfg.Game, ConfigHash: s.cfg.Hash(), Board: lb.Board{Kind: lb.Players, Span: span}, Order: lb.ByScore}
}

func players(span string) lb.Board { return lb.Board{Kind: lb.Players, Span: span} }
