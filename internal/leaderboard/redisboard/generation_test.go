package redisboard_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	lb "laststand/internal/leaderboard"
)

func (s *shelf) states(t *testing.T) (served, building lb.State) {
	t.Helper()
	served, err := s.Served(t.Context(), s.cfg.Game, s.cfg.Form())
	if err != nil {
		t.Fatal(err)
	}
	building, err = s.Building(t.Context(), s.cfg.Game, s.cfg.Form())
	if err != nil {
		t.Fatal(err)
	}
	return served, building
}

func TestACopyIsBuiltBesideTheServedOne(t *testing.T) {
	eachShelf(t, func(t *testing.T, s *shelf) {
		if served, building := s.states(t); served.ID != "" || building.ID != "" {
			t.Fatalf("served %+v, building %+v of nothing", served, building)
		}
		s.served(t, players("all"), crowd(3)...)
		served, building := s.states(t)
		if !served.Served || served.ID != "first" || served.Stamp != s.last.Stamp || served.Mark.Pos != 10 || building.ID != "" {
			t.Fatalf("served %+v, building %+v", served, building)
		}
		s.begin(t, "second", "first")
		before := s.last
		served, building = s.states(t)
		if served.ID != "first" || building.ID != "second" || building.Before != "first" || building.Served || !building.Loading ||
			building.Stamp != before.Stamp || !reflect.DeepEqual(building.Progress, before.Progress) {
			t.Fatalf("served %+v, building %+v", served, building)
		}
		s.commit(t, s.step(12, s.enter(players("all"), crowd(5)...)))
		if slice, err := s.Slice(t.Context(), s.view("all"), lb.Cut{From: lb.Top}); err != nil || slice.Total != 3 {
			t.Fatalf("read %d, %v, before the copy is published", slice.Total, err)
		}
		s.publish(t)
		if slice, err := s.Slice(t.Context(), s.view("all"), lb.Cut{From: lb.Top}); err != nil || slice.Total != 5 {
			t.Fatalf("read %d, %v, after the copy is published", slice.Total, err)
		}
		served, building = s.states(t)
		if served.ID != "second" || building.ID != "" {
			t.Fatalf("served %+v, building %+v", served, building)
		}
	})
}

func TestOnlyOneCopyIsBuilt(t *testing.T) {
	eachShelf(t, func(t *testing.T, s *shelf) {
		s.begin(t, "one", "")
		for _, instead := range []string{"", "other"} {
			s.begin(t, "late", instead)
			if _, building := s.states(t); building.ID != "one" {
				t.Fatalf("building %+v", building)
			}
		}
		s.begin(t, "two", "one")
		s.begin(t, "two", "one") // run again, as after a time-out
		if _, building := s.states(t); building.ID != "two" {
			t.Fatalf("building %+v", building)
		}
		s.commit(t, s.step(10))
		s.publish(t)
		s.begin(t, "three", "one") // instead of what is not served
		if served, building := s.states(t); served.ID != "two" || building.ID != "" {
			t.Fatalf("served %+v, building %+v", served, building)
		}
	})
}

func TestOnlyAWholeCopyIsPublished(t *testing.T) {
	eachShelf(t, func(t *testing.T, s *shelf) {
		s.begin(t, "one", "")
		_, building := s.states(t)
		for name, spoil := range map[string]func(*lb.State){
			"loading":           func(*lb.State) {},
			"another":           func(st *lb.State) { st.ID = "other" },
			"instead of others": func(st *lb.State) { st.Before = "other" },
		} {
			state := building
			spoil(&state)
			if err := s.Publish(t.Context(), state); err != nil {
				t.Fatal(err)
			}
			if served, _ := s.states(t); served.ID != "" {
				t.Fatalf("%s: served %+v", name, served)
			}
		}
		s.commit(t, s.step(10))
		s.publish(t)
		if served, _ := s.states(t); served.ID != "one" {
			t.Fatalf("served %+v", served)
		}
		if err := s.Publish(t.Context(), building); err != nil {
			t.Fatal(err)
		}
		if served, _ := s.states(t); served.Stamp != s.last.Stamp {
			t.Fatalf("published twice: %+v", served)
		}
	})
}

func (s *shelf) forms(t *testing.T) []lb.Config {
	t.Helper()
	forms, err := s.Forms(t.Context(), s.cfg.Game)
	if err != nil {
		t.Fatal(err)
	}
	return forms
}

func TestFormsAreThoseServedTheLastOneFirst(t *testing.T) {
	eachShelf(t, func(t *testing.T, s *shelf) {
		zone, err := time.LoadLocation("America/St_Johns")
		if err != nil {
			t.Fatal(err)
		}
		old := s.cfg
		changed := s.cfg
		changed.Weights.Accuracy++
		changed.Location = zone
		if forms := s.forms(t); forms != nil {
			t.Fatalf("forms %+v of nothing", forms)
		}
		s.served(t, players("all"), crowd(3)...)
		s.cfg = changed
		s.begin(t, "changed", "")
		if forms := s.forms(t); !reflect.DeepEqual(forms, []lb.Config{old}) {
			t.Fatalf("forms %+v, want %+v", forms, old)
		}
		s.commit(t, s.step(10))
		s.publish(t)
		if forms := s.forms(t); !reflect.DeepEqual(forms, []lb.Config{changed, old}) {
			t.Fatalf("forms %+v, want %+v and %+v", forms, changed, old)
		}
		s.cfg = old
		s.begin(t, "again", "first")
		s.commit(t, s.step(10))
		s.publish(t)
		if forms := s.forms(t); !reflect.DeepEqual(forms, []lb.Config{old, changed}) {
			t.Fatalf("forms %+v, want %+v and %+v", forms, old, changed)
		}
		if err := s.Sweep(t.Context(), old.Game, old.Form(), 2001); err != nil {
			t.Fatal(err)
		}
		if forms := s.forms(t); !reflect.DeepEqual(forms, []lb.Config{old}) {
			t.Fatalf("forms %+v after the sweep, want %+v", forms, old)
		}
	})
}

func TestSweepLeavesOnlyWhatIsKept(t *testing.T) {
	eachShelf(t, func(t *testing.T, s *shelf) {
		s.served(t, players("all"), crowd(3)...)
		kept := s.keys(t)
		old := s.cfg
		s.begin(t, "given up", "first") // while it was being loaded: no progress says what it has
		step := s.step(12, s.enter(players("2026-10-01"), crowd(3)...), s.enter(lb.Board{Kind: lb.Teams, Span: "7d.1"}, crowd(3)...))
		step.Loading, step.Progress = true, lb.Progress{}
		step.Seal = []lb.Sealed{{Day: "2026-10-01", Entries: map[lb.Kind]int64{lb.Players: 3}}}
		s.commit(t, step)
		s.begin(t, "given up too", "given up")
		s.cfg.MinAnswers++
		s.served(t, players("all"), crowd(7)...)
		sweep := func(before int64) {
			t.Helper()
			if err := s.Sweep(t.Context(), old.Game, old.Form(), before); err != nil {
				t.Fatal(err)
			}
		}
		sweep(2000)
		if slice, err := s.Slice(t.Context(), s.view("all"), lb.Cut{From: lb.Top}); err != nil || slice.Total != 7 {
			t.Fatalf("a form that was just written to was swept: %d, %v", slice.Total, err)
		}
		sweep(2001)
		if _, err := s.Slice(t.Context(), s.view("all"), lb.Cut{From: lb.Top}); !errors.Is(err, lb.ErrNotReady) {
			t.Fatalf("the other form: %v", err)
		}
		s.cfg = old
		s.begin(t, "third", "given up too")
		s.commit(t, s.step(10, s.enter(players("all"), crowd(3)...)))
		s.publish(t)
		sweep(2001)
		if got := s.keys(t); len(got) != len(kept) {
			t.Fatalf("%v are left, not %v", got, kept)
		}
	})
}

func TestALostPointerIsNotReady(t *testing.T) {
	eachShelf(t, func(t *testing.T, s *shelf) {
		g := s.served(t, players("all"), crowd(3)...)
		state := "{b:" + s.cfg.Game + "}:" + g.ID + ":state"
		if !slices.Contains(s.keys(t), state) {
			t.Fatalf("no %s in %v", state, s.keys(t))
		}
		if err := s.rdb.Del(t.Context(), state).Err(); err != nil {
			t.Fatal(err)
		}
		if served, _ := s.states(t); served.ID != g.ID || served.Stamp != "" {
			t.Fatalf("served %+v", served)
		}
		if _, err := s.Slice(t.Context(), s.view("all"), lb.Cut{From: lb.Top}); !errors.Is(err, lb.ErrNotReady) {
			t.Fatalf("a lost copy: %v", err)
		}
		s.begin(t, "second", g.ID)
		s.commit(t, s.step(10))
		s.publish(t)
		if served, _ := s.states(t); served.ID != "second" || served.Stamp != s.last.Stamp {
			t.Fatalf("served %+v", served)
		}
	})
}
