package redisstore_test

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"

	lb "laststand/internal/leaderboard"

	"laststand/internal/testenv"
)

// readEntries reads the entries of ids on a board by id, and the board's size.
func (s *storeFixture) readEntries(t *testing.T, board lb.Board, ids ...string) (found map[string]lb.BoardEntry, size int64) {
	t.Helper()
	noBoard := lb.Board{Kind: lb.Teams, Span: "none"}
	got, err := s.ReadEntries(t.Context(), s.lastState.BoardSet, map[lb.Board][]string{board: ids, noBoard: {"p0000"}})
	size, countErr := s.rdb.HLen(t.Context(), fmt.Sprintf("{b:%s}:%s:%s:%s:parts", s.lastState.Game, s.lastState.ID, board.Kind, board.Span)).Result()
	if err := errors.Join(err, countErr); err != nil {
		t.Fatalf("read the entries %+v, %d, %v", got, size, err)
	}
	found = map[string]lb.BoardEntry{}
	for key, entry := range got {
		if key != (lb.EntryKey{Board: board, ID: entry.ID}) {
			t.Fatalf("read %+v as %+v", entry, key)
		}
		found[entry.ID] = entry
	}
	return found, size
}

func TestATransactionWritesEntriesAndProgress(t *testing.T) {
	eachStore(t, func(t *testing.T, fixture *storeFixture) {
		board := players("all")
		fixture.begin(t, "a")
		oldEntries := manyEntries(3)
		first := fixture.transaction(10, put(board, oldEntries...))
		first.Rolling = map[lb.Window]lb.RollingBoards{
			"2d": {FirstDays: [2]string{"2026-11-19", "2026-11-20"}, Served: 1},
			"7d": {FirstDays: [2]string{"2026-11-14", "2026-11-15"}, Cursor: [2]int64{0, 200}},
		}
		fixture.commit(t, first)
		fixture.publish(t)
		if state := fixture.served(t); state.Version != first.Version || state.Loading || !reflect.DeepEqual(state.Progress, first.Progress) {
			t.Fatalf("state %+v, want %+v", state, first)
		}
		// One entry changes, one is removed, one stays. A team with the same id is another entry.
		moved := lb.BoardEntry{ID: "p0000", Newest: 11, Aggregates: newAggregates(9)}
		change := put(board, moved, lb.BoardEntry{ID: "p0001"})
		fixture.commit(t, fixture.transaction(11, change, put(lb.Board{Kind: lb.Teams, Span: "all"}, oldEntries[2])))
		want := map[string]lb.BoardEntry{"p0000": moved, "p0002": oldEntries[2]}
		if got, size := fixture.readEntries(t, board, "p0000", "p0001", "nobody", "p0002"); !maps.Equal(got, want) || size != 2 {
			t.Fatalf("read the entries %+v of %d, want %+v", got, size, want)
		}
		slice, err := fixture.ReadSlice(t.Context(), fixture.rankingID("all"), lb.SliceRequest{Anchor: lb.Top, Limit: 9})
		if err != nil || slice.Total != 2 || slice.Entries[0].BoardEntry != moved || slice.Entries[1].BoardEntry != oldEntries[2] || slice.AsOf != 5000 {
			t.Fatalf("slice %+v, %v", slice, err)
		}
	})
}

func TestATransactionOnAnotherVersionDoesNothing(t *testing.T) {
	eachStore(t, func(t *testing.T, fixture *storeFixture) {
		boardSet := fixture.begin(t, "a")
		first := fixture.transaction(10, put(players("all"), manyEntries(3)...))
		fixture.commit(t, first)
		second := fixture.transaction(11, remove(players("all"), manyEntries(1)...))
		fixture.commit(t, second)
		if err := fixture.Commit(t.Context(), boardSet, []lb.Transaction{second}); err != nil {
			t.Fatalf("a repeated transaction: %v", err)
		}
		strayTx := fixture.transaction(12, remove(players("all"), manyEntries(3)...))
		strayTx.ExpectedVersion = "elsewhere"
		txAfterStray := fixture.transaction(13, remove(players("all"), manyEntries(3)...))
		txAfterStray.ExpectedVersion = strayTx.Version
		for _, txs := range [][]lb.Transaction{{first}, {strayTx}, {strayTx, txAfterStray}} {
			if err := fixture.Commit(t.Context(), boardSet, txs); !errors.Is(err, lb.ErrStale) {
				t.Fatalf("a transaction on another version: %v", err)
			}
		}
		lostBoardSet := boardSet
		lostBoardSet.ID = "lost"
		if err := fixture.Commit(t.Context(), lostBoardSet, []lb.Transaction{second}); !errors.Is(err, lb.ErrStale) {
			t.Fatalf("a transaction on a lost board set: %v", err)
		}
		if _, got := fixture.readEntries(t, players("all")); got != 2 {
			t.Fatalf("the board has %d entries, want 2", got)
		}
	})
}

func TestATransactionMayHaveManyEntries(t *testing.T) {
	eachStore(t, func(t *testing.T, fixture *storeFixture) {
		boardSet := fixture.begin(t, "a")
		entries := manyEntries(400)
		fixture.commit(t, fixture.transaction(10, put(players("all"), entries...)))
		for from := int64(0); from < 400; from += 150 {
			got := testenv.Need(fixture.ReadMembers(t.Context(), boardSet, fixture.rankingID("all"), from, 150))(t)
			end := min(from+150, 400)
			if len(got) != int(end-from) || got[0] != entries[399-from].ID || got[len(got)-1] != entries[400-end].ID {
				t.Fatalf("members from %d: %d, %s to %s", from, len(got), got[0], got[len(got)-1])
			}
		}
		if got, err := fixture.ReadMembers(t.Context(), boardSet, fixture.rankingID("all"), 400, 150); err != nil || len(got) != 0 {
			t.Fatalf("members after the last: %+v, %v", got, err)
		}
		fixture.commit(t, fixture.transaction(11, remove(players("all"), entries...)))
		if got, size := fixture.readEntries(t, players("all"), "p0000"); size != 0 || len(got) != 0 {
			t.Fatalf("read the entries %+v of %d of an empty board", got, size)
		}
	})
}

func TestTheBoardsOfADayAreDeleted(t *testing.T) {
	eachStore(t, func(t *testing.T, fixture *storeFixture) {
		fixture.begin(t, "a")
		keysBefore := len(fixture.allKeys(t))
		fixture.commit(t, fixture.transaction(10, put(players("2026-11-20"), manyEntries(3)...), put(lb.Board{Kind: lb.Teams, Span: "2026-11-20"}, manyEntries(2)...)))
		tx := fixture.transaction(11)
		tx.DeletedDays = []string{"2026-11-20"}
		fixture.commit(t, tx)
		if keys := fixture.allKeys(t); len(keys) != keysBefore {
			t.Fatalf("the keys %v were not deleted", keys)
		}
	})
}

func TestACorruptBoardSetIsNotRead(t *testing.T) {
	eachStore(t, func(t *testing.T, fixture *storeFixture) {
		boardSet := fixture.publishWith(t, players("all"), manyEntries(3)...)
		// A script that fails in the middle leaves its first writes in place. A key of another type
		// makes it fail.
		for _, key := range fixture.allKeys(t) {
			if strings.HasSuffix(key, ":meta") {
				testenv.NoError(t, errors.Join(fixture.rdb.Del(t.Context(), key).Err(), fixture.rdb.Set(t.Context(), key, "no hash", 0).Err()))
			}
		}
		tx := fixture.transaction(11, put(players("all"), lb.BoardEntry{ID: "p0001", Newest: 11, Aggregates: newAggregates(5)}))
		if err := fixture.Commit(t.Context(), boardSet, []lb.Transaction{tx}); err == nil || errors.Is(err, lb.ErrStale) {
			t.Fatalf("the transaction did not fail: %v", err)
		}
		if err := fixture.Commit(t.Context(), boardSet, []lb.Transaction{tx}); !errors.Is(err, lb.ErrStale) {
			t.Fatalf("a transaction on a corrupt board set: %v", err)
		}
		if _, err := fixture.ReadSlice(t.Context(), fixture.rankingID("all"), lb.SliceRequest{Anchor: lb.Top, Limit: 9}); !errors.Is(err, lb.ErrNotReady) {
			t.Fatalf("reading a corrupt board set: %v", err)
		}
		if state, err := fixture.ServedState(t.Context(), fixture.cfg.Game, fixture.cfg.Hash()); err != nil || state.ID != boardSet.ID || state.Version != "" {
			t.Fatalf("state %+v, %v", state, err)
		}
		if _, err := fixture.Inspect(t.Context(), boardSet, fixture.cfg.RankingOrders(), nil, nil); !errors.Is(err, lb.ErrStale) {
			t.Fatalf("inspecting a corrupt board set: %v", err)
		}
	})
}
