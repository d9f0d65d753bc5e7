package redisboard_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	lb "laststand/internal/leaderboard"
)

func (s *storeFixture) states(t *testing.T) (served, building lb.State) {
	t.Helper()
	served, err := s.ServedState(t.Context(), s.cfg.Game, s.cfg.Hash())
	if err != nil {
		t.Fatal(err)
	}
	building, err = s.BuildingState(t.Context(), s.cfg.Game, s.cfg.Hash())
	if err != nil {
		t.Fatal(err)
	}
	return served, building
}

func TestACopyIsBuiltWhileAnotherIsServed(t *testing.T) {
	eachStore(t, func(t *testing.T, s *storeFixture) {
		if served, building := s.states(t); served.ID != "" || building.ID != "" {
			t.Fatalf("served %+v, building %+v of nothing", served, building)
		}
		s.publishWith(t, players("all"), manyEntries(3)...)
		served, building := s.states(t)
		if !served.Served || served.ID != "first" || served.Version != s.last.Version || served.Mark.Pos != 10 || building.ID != "" {
			t.Fatalf("served %+v, building %+v", served, building)
		}
		s.begin(t, "second", "first")
		before := s.last
		served, building = s.states(t)
		if served.ID != "first" || building.ID != "second" || building.ReplacedID != "first" || building.Served || !building.Loading ||
			building.Version != before.Version || !reflect.DeepEqual(building.Progress, before.Progress) {
			t.Fatalf("served %+v, building %+v", served, building)
		}
		s.commit(t, s.step(12, s.addEntries(players("all"), manyEntries(5)...)))
		if slice, err := s.ReadSlice(t.Context(), s.view("all"), lb.Cut{From: lb.Top}); err != nil || slice.Total != 3 {
			t.Fatalf("read %d, %v, before the board set is published", slice.Total, err)
		}
		s.publish(t)
		if slice, err := s.ReadSlice(t.Context(), s.view("all"), lb.Cut{From: lb.Top}); err != nil || slice.Total != 5 {
			t.Fatalf("read %d, %v, after the board set is published", slice.Total, err)
		}
		served, building = s.states(t)
		if served.ID != "second" || building.ID != "" {
			t.Fatalf("served %+v, building %+v", served, building)
		}
	})
}

func TestOnlyOneCopyIsBuilt(t *testing.T) {
	eachStore(t, func(t *testing.T, s *storeFixture) {
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
		s.begin(t, "three", "one") // the replaced board set is not served
		if served, building := s.states(t); served.ID != "two" || building.ID != "" {
			t.Fatalf("served %+v, building %+v", served, building)
		}
	})
}

func TestOnlyACompleteCopyIsPublished(t *testing.T) {
	eachStore(t, func(t *testing.T, s *storeFixture) {
		s.begin(t, "one", "")
		_, building := s.states(t)
		for name, spoil := range map[string]func(*lb.State){
			"loading":           func(*lb.State) {},
			"another":           func(st *lb.State) { st.ID = "other" },
			"instead of others": func(st *lb.State) { st.ReplacedID = "other" },
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
		if served, _ := s.states(t); served.Version != s.last.Version {
			t.Fatalf("published twice: %+v", served)
		}
	})
}

func (s *storeFixture) servedConfigs(t *testing.T) []lb.Config {
	t.Helper()
	forms, err := s.ServedConfigs(t.Context(), s.cfg.Game)
	if err != nil {
		t.Fatal(err)
	}
	return forms
}

func TestServedConfigsListsTheNewestFirst(t *testing.T) {
	eachStore(t, func(t *testing.T, s *storeFixture) {
		zone, err := time.LoadLocation("America/St_Johns")
		if err != nil {
			t.Fatal(err)
		}
		old := s.cfg
		changed := s.cfg
		changed.Weights.Accuracy++
		changed.Location = zone
		if forms := s.servedConfigs(t); forms != nil {
			t.Fatalf("configs %+v without boards", forms)
		}
		s.publishWith(t, players("all"), manyEntries(3)...)
		s.cfg = changed
		s.begin(t, "changed", "")
		if forms := s.servedConfigs(t); !reflect.DeepEqual(forms, []lb.Config{old}) {
			t.Fatalf("configs %+v, want %+v", forms, old)
		}
		s.commit(t, s.step(10))
		s.publish(t)
		if forms := s.servedConfigs(t); !reflect.DeepEqual(forms, []lb.Config{changed, old}) {
			t.Fatalf("configs %+v, want %+v and %+v", forms, changed, old)
		}
		s.cfg = old
		s.begin(t, "again", "first")
		s.commit(t, s.step(10))
		s.publish(t)
		if forms := s.servedConfigs(t); !reflect.DeepEqual(forms, []lb.Config{old, changed}) {
			t.Fatalf("configs %+v, want %+v and %+v", forms, old, changed)
		}
		if err := s.Sweep(t.Context(), old.Game, old.Hash(), 2001); err != nil {
			t.Fatal(err)
		}
		if forms := s.servedConfigs(t); !reflect.DeepEqual(forms, []lb.Config{old}) {
			t.Fatalf("configs %+v after the sweep, want %+v", forms, old)
		}
	})
}

func TestSweepKeepsOnlyServedCopies(t *testing.T) {
	eachStore(t, func(t *testing.T, s *storeFixture) {
		s.publishWith(t, players("all"), manyEntries(3)...)
		kept := s.allKeys(t)
		old := s.cfg
		s.begin(t, "given up", "first") // replaced while it is being loaded, so its progress does not list its boards
		step := s.step(12, s.addEntries(players("2026-10-01"), manyEntries(3)...), s.addEntries(lb.Board{Kind: lb.Teams, Span: "7d.1"}, manyEntries(3)...))
		step.Loading, step.Progress = true, lb.Progress{}
		step.SealedDays = []lb.SealedDay{{Day: "2026-10-01", Sizes: map[lb.Kind]int64{lb.Players: 3}}}
		s.commit(t, step)
		s.begin(t, "given up too", "given up")
		s.cfg.MinAnswers++
		s.publishWith(t, players("all"), manyEntries(7)...)
		sweep := func(before int64) {
			t.Helper()
			if err := s.Sweep(t.Context(), old.Game, old.Hash(), before); err != nil {
				t.Fatal(err)
			}
		}
		sweep(2000)
		if slice, err := s.ReadSlice(t.Context(), s.view("all"), lb.Cut{From: lb.Top}); err != nil || slice.Total != 7 {
			t.Fatalf("Sweep removed boards that were just written: %d, %v", slice.Total, err)
		}
		sweep(2001)
		if _, err := s.ReadSlice(t.Context(), s.view("all"), lb.Cut{From: lb.Top}); !errors.Is(err, lb.ErrNotReady) {
			t.Fatalf("the boards of the other configuration: %v", err)
		}
		s.cfg = old
		s.begin(t, "third", "given up too")
		s.commit(t, s.step(10, s.addEntries(players("all"), manyEntries(3)...)))
		s.publish(t)
		sweep(2001)
		if got := s.allKeys(t); len(got) != len(kept) {
			t.Fatalf("%v are left, not %v", got, kept)
		}
	})
}

func TestALostPointerIsNotReady(t *testing.T) {
	eachStore(t, func(t *testing.T, s *storeFixture) {
		g := s.publishWith(t, players("all"), manyEntries(3)...)
		state := "{b:" + s.cfg.Game + "}:" + g.ID + ":state"
		if !slices.Contains(s.allKeys(t), state) {
			t.Fatalf("no %s in %v", state, s.allKeys(t))
		}
		if err := s.rdb.Del(t.Context(), state).Err(); err != nil {
			t.Fatal(err)
		}
		if served, _ := s.states(t); served.ID != g.ID || served.Version != "" {
			t.Fatalf("served %+v", served)
		}
		if _, err := s.ReadSlice(t.Context(), s.view("all"), lb.Cut{From: lb.Top}); !errors.Is(err, lb.ErrNotReady) {
			t.Fatalf("a lost board set: %v", err)
		}
		s.begin(t, "second", g.ID)
		s.commit(t, s.step(10))
		s.publish(t)
		if served, _ := s.states(t); served.ID != "second" || served.Version != s.last.Version {
			t.Fatalf("served %+v", served)
		}
	})
}
