package redisboard_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	lb "laststand/internal/leaderboard"
)

// readEntries reads the entries of ids on a board, and the board's size.
func (s *storeFixture) readEntries(t *testing.T, board lb.Board, ids ...string) lb.EntryAnswer {
	t.Helper()
	got, err := s.ReadEntries(t.Context(), s.last.Generation, []lb.EntryRequest{{Board: lb.Board{Kind: lb.Teams, Span: "none"}}, {Board: board, IDs: ids}})
	if err != nil || len(got) != 2 || got[0].Size != 0 || got[0].Found != nil {
		t.Fatalf("held %+v, %v", got, err)
	}
	return got[1]
}

func TestAStepWritesEntriesAndProgress(t *testing.T) {
	eachStore(t, func(t *testing.T, s *storeFixture) {
		all := players("all")
		s.begin(t, "a", "")
		old := manyEntries(3)
		first := s.step(10, s.addEntries(all, old...))
		first.Rolling = map[lb.Window]lb.RollingBoards{
			"2d": {FirstDay: [2]string{"2026-11-19", "2026-11-20"}, Served: 1},
			"7d": {FirstDay: [2]string{"2026-11-14", "2026-11-15"}, Cursor: [2]int64{0, 200}},
		}
		s.commit(t, first)
		state, err := s.BuildingState(t.Context(), s.cfg.Game, s.cfg.Hash())
		if err != nil || state.Version != first.Version || state.Loading || !reflect.DeepEqual(state.Progress, first.Progress) {
			t.Fatalf("state %+v, %v, want %+v", state, err, first)
		}
		// One entry changes, one is removed, one stays. A team with the same id is another entry.
		moved := lb.BoardEntry{ID: "p0000", Newest: 11, Aggregates: newAggregates(9)}
		change := s.removeEntries(all, old[0], old[1])
		change.Removed = []string{"p0001"}
		in := s.addEntries(all, moved)
		change.Put, change.AddedMembers = in.Put, in.AddedMembers
		s.commit(t, s.step(11, change, s.addEntries(lb.Board{Kind: lb.Teams, Span: "all"}, old[2])))
		want := lb.EntryAnswer{Found: []lb.BoardEntry{moved, old[2]}, Size: 2}
		if got := s.readEntries(t, all, "p0000", "p0001", "nobody", "p0002"); !reflect.DeepEqual(got, want) {
			t.Fatalf("held %+v, want %+v", got, want)
		}
		s.publish(t)
		slice, err := s.ReadSlice(t.Context(), s.view("all"), lb.Cut{From: lb.Top, Limit: 9})
		if err != nil || slice.Total != 2 || slice.Rows[0].BoardEntry != moved || slice.Rows[1].BoardEntry != old[2] || slice.AsOf != 5000 {
			t.Fatalf("slice %+v, %v", slice, err)
		}
	})
}

func TestStepsBuildOnEachOtherOrDoNothing(t *testing.T) {
	eachStore(t, func(t *testing.T, s *storeFixture) {
		g := s.begin(t, "a", "")
		one := s.step(10, s.addEntries(players("all"), manyEntries(3)...))
		s.commit(t, one)
		two := s.step(11, s.removeEntries(players("all"), manyEntries(1)...))
		s.commit(t, two)
		if err := s.Commit(t.Context(), g, []lb.Step{two}); err != nil {
			t.Fatalf("a repeated transaction: %v", err)
		}
		stray := s.step(12, s.removeEntries(players("all"), manyEntries(3)...))
		stray.ExpectedVersion = "elsewhere"
		after := s.step(13, s.removeEntries(players("all"), manyEntries(3)...))
		after.ExpectedVersion = stray.Version
		for _, steps := range [][]lb.Step{{one}, {stray}, {stray, after}} {
			if err := s.Commit(t.Context(), g, steps); !errors.Is(err, lb.ErrStale) {
				t.Fatalf("a transaction on another version: %v", err)
			}
		}
		nowhere := g
		nowhere.ID = "lost"
		if err := s.Commit(t.Context(), nowhere, []lb.Step{two}); !errors.Is(err, lb.ErrStale) {
			t.Fatalf("a transaction on a lost board set: %v", err)
		}
		if got := s.readEntries(t, players("all")).Size; got != 2 {
			t.Fatalf("%d entries", got)
		}
	})
}

func TestAStepOfManyEntries(t *testing.T) {
	eachStore(t, func(t *testing.T, s *storeFixture) {
		g := s.begin(t, "a", "")
		many := manyEntries(1234)
		s.commit(t, s.step(10, s.addEntries(players("all"), many...)))
		for from := int64(0); from < 1234; from += 500 {
			got, err := s.ReadMembers(t.Context(), g, s.view("all"), from, 500)
			if err != nil {
				t.Fatal(err)
			}
			end := min(from+500, 1234)
			if len(got) != int(end-from) || got[0] != many[1233-from] || got[len(got)-1] != many[1234-end] {
				t.Fatalf("members from %d: %d, %+v to %+v", from, len(got), got[0], got[len(got)-1])
			}
		}
		if got, err := s.ReadMembers(t.Context(), g, s.view("all"), 1234, 500); err != nil || len(got) != 0 {
			t.Fatalf("members behind the end: %+v, %v", got, err)
		}
		s.commit(t, s.step(11, s.removeEntries(players("all"), many...)))
		if got := s.readEntries(t, players("all"), "p0000"); got.Size != 0 || got.Found != nil {
			t.Fatalf("held %+v of nothing", got)
		}
	})
}

func TestADayIsSealedAndDropped(t *testing.T) {
	eachStore(t, func(t *testing.T, s *storeFixture) {
		g := s.begin(t, "a", "")
		kept := len(s.allKeys(t))
		sealed := func(day string) (lb.SealedDay, bool) {
			t.Helper()
			got, ok, err := s.ReadSealedDay(t.Context(), g, day)
			if err != nil {
				t.Fatal(err)
			}
			return got, ok
		}
		if got, ok := sealed("2026-11-20"); ok {
			t.Fatalf("the open day has the stored sizes %+v", got)
		}
		want := lb.SealedDay{Day: "2026-11-20", Sizes: map[lb.Kind]int64{lb.Players: 3, lb.Teams: 2}}
		step := s.step(10, s.addEntries(players("2026-11-20"), manyEntries(3)...), s.addEntries(lb.Board{Kind: lb.Teams, Span: "2026-11-20"}, manyEntries(2)...))
		step.SealedDays = []lb.SealedDay{{Day: "2026-11-19", Sizes: map[lb.Kind]int64{lb.Players: 0, lb.Teams: 0}}, want}
		s.commit(t, step)
		if got, ok := sealed("2026-11-20"); !ok || !reflect.DeepEqual(got, want) {
			t.Fatalf("stored sizes %+v, want %+v", got, want)
		}
		if got, ok := sealed("2026-11-19"); !ok || got.Sizes[lb.Players] != 0 {
			t.Fatalf("stored sizes %+v, want 0", got)
		}
		want.Sizes[lb.Players] = 2 // the next transaction stores the size of players only
		step = s.step(11, s.removeEntries(players("2026-11-20"), manyEntries(1)...))
		step.SealedDays = []lb.SealedDay{{Day: "2026-11-20", Sizes: map[lb.Kind]int64{lb.Players: 2}}}
		step.DroppedDays = []string{"2026-11-19"}
		s.commit(t, step)
		if got, ok := sealed("2026-11-20"); !ok || !reflect.DeepEqual(got, want) {
			t.Fatalf("stored sizes %+v, want %+v", got, want)
		}
		if got, ok := sealed("2026-11-19"); ok {
			t.Fatalf("a deleted day has the stored sizes %+v", got)
		}
		step = s.step(12)
		step.DroppedDays = []string{"2026-11-20"}
		s.commit(t, step)
		if keys := s.allKeys(t); len(keys) != kept {
			t.Fatalf("the keys %v were not deleted", keys)
		}
	})
}

func TestACorruptCopyIsNotRead(t *testing.T) {
	eachStore(t, func(t *testing.T, s *storeFixture) {
		g := s.publishWith(t, players("all"), manyEntries(3)...)
		// An error in the middle of a script leaves its first writes in place.
		for _, key := range s.allKeys(t) {
			if strings.HasSuffix(key, ":meta") {
				if err := errors.Join(s.rdb.Del(t.Context(), key).Err(), s.rdb.Set(t.Context(), key, "no hash", 0).Err()); err != nil {
					t.Fatal(err)
				}
			}
		}
		step := s.step(11, s.addEntries(players("all"), lb.BoardEntry{ID: "p0001", Newest: 11, Aggregates: newAggregates(5)}))
		if err := s.Commit(t.Context(), g, []lb.Step{step}); err == nil || errors.Is(err, lb.ErrStale) {
			t.Fatalf("the transaction did not fail: %v", err)
		}
		if err := s.Commit(t.Context(), g, []lb.Step{step}); !errors.Is(err, lb.ErrStale) {
			t.Fatalf("a transaction on a corrupt board set: %v", err)
		}
		if _, err := s.ReadSlice(t.Context(), s.view("all"), lb.Cut{From: lb.Top, Limit: 9}); !errors.Is(err, lb.ErrNotReady) {
			t.Fatalf("reading a corrupt board set: %v", err)
		}
		if state, err := s.ServedState(t.Context(), s.cfg.Game, s.cfg.Hash()); err != nil || state.ID != g.ID || state.Version != "" {
			t.Fatalf("state %+v, %v", state, err)
		}
		if _, err := s.Inspect(t.Context(), g, s.cfg.Rankings(), nil); !errors.Is(err, lb.ErrStale) {
			t.Fatalf("inspecting a corrupt board set: %v", err)
		}
	})
}
