package redisboard_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	lb "laststand/internal/leaderboard"
)

// held reads what a board has of ids, and its size.
func (s *shelf) held(t *testing.T, board lb.Board, ids ...string) lb.Content {
	t.Helper()
	got, err := s.Held(t.Context(), s.last.Generation, []lb.Want{{Board: lb.Board{Kind: lb.Teams, Span: "none"}}, {Board: board, IDs: ids}})
	if err != nil || len(got) != 2 || got[0].Entries != 0 || got[0].Held != nil {
		t.Fatalf("held %+v, %v", got, err)
	}
	return got[1]
}

func TestAStepWritesEntriesAndWhatTheyStandFor(t *testing.T) {
	eachShelf(t, func(t *testing.T, s *shelf) {
		all := players("all")
		s.begin(t, "a", "")
		old := crowd(3)
		first := s.step(10, s.enter(all, old...))
		first.Rolls = map[lb.Window]lb.Roll{
			"2d": {Lo: [2]string{"2026-11-19", "2026-11-20"}, Served: 1},
			"7d": {Lo: [2]string{"2026-11-14", "2026-11-15"}, Cursor: [2]int64{0, 200}},
		}
		s.commit(t, first)
		state, err := s.Building(t.Context(), s.cfg.Game, s.cfg.Form())
		if err != nil || state.Stamp != first.Stamp || state.Loading || !reflect.DeepEqual(state.Progress, first.Progress) {
			t.Fatalf("state %+v, %v, want %+v", state, err, first)
		}
		// One moves, one goes, one stays; a team of the same id is another.
		moved := lb.Held{ID: "p0000", Newest: 11, Parts: right(9)}
		change := s.leave(all, old[0], old[1])
		change.Gone = []string{"p0001"}
		in := s.enter(all, moved)
		change.Put, change.In = in.Put, in.In
		s.commit(t, s.step(11, change, s.enter(lb.Board{Kind: lb.Teams, Span: "all"}, old[2])))
		want := lb.Content{Held: []lb.Held{moved, old[2]}, Entries: 2}
		if got := s.held(t, all, "p0000", "p0001", "nobody", "p0002"); !reflect.DeepEqual(got, want) {
			t.Fatalf("held %+v, want %+v", got, want)
		}
		s.publish(t)
		slice, err := s.Slice(t.Context(), s.view("all"), lb.Cut{From: lb.Top, Limit: 9})
		if err != nil || slice.Total != 2 || slice.Rows[0].Held != moved || slice.Rows[1].Held != old[2] || slice.AsOf != 5000 {
			t.Fatalf("slice %+v, %v", slice, err)
		}
	})
}

func TestStepsBuildOnEachOtherOrDoNothing(t *testing.T) {
	eachShelf(t, func(t *testing.T, s *shelf) {
		g := s.begin(t, "a", "")
		one := s.step(10, s.enter(players("all"), crowd(3)...))
		s.commit(t, one)
		two := s.step(11, s.leave(players("all"), crowd(1)...))
		s.commit(t, two)
		if err := s.Commit(t.Context(), g, []lb.Step{two}); err != nil {
			t.Fatalf("a repeated step: %v", err)
		}
		stray := s.step(12, s.leave(players("all"), crowd(3)...))
		stray.Expect = "elsewhere"
		after := s.step(13, s.leave(players("all"), crowd(3)...))
		after.Expect = stray.Stamp
		for _, steps := range [][]lb.Step{{one}, {stray}, {stray, after}} {
			if err := s.Commit(t.Context(), g, steps); !errors.Is(err, lb.ErrStale) {
				t.Fatalf("a step on another stamp: %v", err)
			}
		}
		nowhere := g
		nowhere.ID = "lost"
		if err := s.Commit(t.Context(), nowhere, []lb.Step{two}); !errors.Is(err, lb.ErrStale) {
			t.Fatalf("a step on a lost copy: %v", err)
		}
		if got := s.held(t, players("all")).Entries; got != 2 {
			t.Fatalf("%d entries", got)
		}
	})
}

func TestAStepOfManyEntries(t *testing.T) {
	eachShelf(t, func(t *testing.T, s *shelf) {
		g := s.begin(t, "a", "")
		many := crowd(1234)
		s.commit(t, s.step(10, s.enter(players("all"), many...)))
		for from := int64(0); from < 1234; from += 500 {
			got, err := s.Members(t.Context(), g, s.view("all"), from, 500)
			if err != nil {
				t.Fatal(err)
			}
			end := min(from+500, 1234)
			if len(got) != int(end-from) || got[0] != many[1233-from] || got[len(got)-1] != many[1234-end] {
				t.Fatalf("members from %d: %d, %+v to %+v", from, len(got), got[0], got[len(got)-1])
			}
		}
		if got, err := s.Members(t.Context(), g, s.view("all"), 1234, 500); err != nil || len(got) != 0 {
			t.Fatalf("members behind the end: %+v, %v", got, err)
		}
		s.commit(t, s.step(11, s.leave(players("all"), many...)))
		if got := s.held(t, players("all"), "p0000"); got.Entries != 0 || got.Held != nil {
			t.Fatalf("held %+v of nothing", got)
		}
	})
}

func TestADayIsSealedAndDropped(t *testing.T) {
	eachShelf(t, func(t *testing.T, s *shelf) {
		g := s.begin(t, "a", "")
		kept := len(s.keys(t))
		sealed := func(day string) (lb.Sealed, bool) {
			t.Helper()
			got, ok, err := s.Sealed(t.Context(), g, day)
			if err != nil {
				t.Fatal(err)
			}
			return got, ok
		}
		if got, ok := sealed("2026-11-20"); ok {
			t.Fatalf("an open day is sealed with %+v", got)
		}
		want := lb.Sealed{Day: "2026-11-20", Entries: map[lb.Kind]int64{lb.Players: 3, lb.Teams: 2}}
		step := s.step(10, s.enter(players("2026-11-20"), crowd(3)...), s.enter(lb.Board{Kind: lb.Teams, Span: "2026-11-20"}, crowd(2)...))
		step.Seal = []lb.Sealed{{Day: "2026-11-19", Entries: map[lb.Kind]int64{lb.Players: 0, lb.Teams: 0}}, want}
		s.commit(t, step)
		if got, ok := sealed("2026-11-20"); !ok || !reflect.DeepEqual(got, want) {
			t.Fatalf("sealed %+v, want %+v", got, want)
		}
		if got, ok := sealed("2026-11-19"); !ok || got.Entries[lb.Players] != 0 {
			t.Fatalf("sealed %+v, want nothing", got)
		}
		want.Entries[lb.Players] = 2 // said anew, and nothing of teams
		step = s.step(11, s.leave(players("2026-11-20"), crowd(1)...))
		step.Seal = []lb.Sealed{{Day: "2026-11-20", Entries: map[lb.Kind]int64{lb.Players: 2}}}
		step.Drop = []string{"2026-11-19"}
		s.commit(t, step)
		if got, ok := sealed("2026-11-20"); !ok || !reflect.DeepEqual(got, want) {
			t.Fatalf("sealed %+v, want %+v", got, want)
		}
		if got, ok := sealed("2026-11-19"); ok {
			t.Fatalf("a day that left is sealed with %+v", got)
		}
		step = s.step(12)
		step.Drop = []string{"2026-11-20"}
		s.commit(t, step)
		if keys := s.keys(t); len(keys) != kept {
			t.Fatalf("%v are left over", keys)
		}
	})
}

func TestATornStepIsSeenByNobody(t *testing.T) {
	eachShelf(t, func(t *testing.T, s *shelf) {
		g := s.served(t, players("all"), crowd(3)...)
		// An error in the midst of a script leaves its first writes behind.
		for _, key := range s.keys(t) {
			if strings.HasSuffix(key, ":meta") {
				if err := errors.Join(s.rdb.Del(t.Context(), key).Err(), s.rdb.Set(t.Context(), key, "no hash", 0).Err()); err != nil {
					t.Fatal(err)
				}
			}
		}
		step := s.step(11, s.enter(players("all"), lb.Held{ID: "p0001", Newest: 11, Parts: right(5)}))
		if err := s.Commit(t.Context(), g, []lb.Step{step}); err == nil || errors.Is(err, lb.ErrStale) {
			t.Fatalf("the step was not cut short: %v", err)
		}
		if err := s.Commit(t.Context(), g, []lb.Step{step}); !errors.Is(err, lb.ErrStale) {
			t.Fatalf("a step on a torn copy: %v", err)
		}
		if _, err := s.Slice(t.Context(), s.view("all"), lb.Cut{From: lb.Top, Limit: 9}); !errors.Is(err, lb.ErrNotReady) {
			t.Fatalf("reading a torn copy: %v", err)
		}
		if state, err := s.Served(t.Context(), s.cfg.Game, s.cfg.Form()); err != nil || state.ID != g.ID || state.Stamp != "" {
			t.Fatalf("state %+v, %v", state, err)
		}
		if _, err := s.Inspect(t.Context(), g, s.cfg.Rankings(), nil); !errors.Is(err, lb.ErrStale) {
			t.Fatalf("inspecting a torn copy: %v", err)
		}
	})
}
