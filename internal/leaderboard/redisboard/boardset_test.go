package redisboard_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	lb "laststand/internal/leaderboard"
)

// states returns the state of the served and of the building board set.
func (s *storeFixture) states(t *testing.T) (served, building lb.BoardSetState) {
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

func TestABoardSetIsBuiltWhileAnotherIsServed(t *testing.T) {
	eachStore(t, func(t *testing.T, fixture *storeFixture) {
		if served, building := fixture.states(t); served.ID != "" || building.ID != "" {
			t.Fatalf("served %+v, building %+v of nothing", served, building)
		}
		fixture.publishWith(t, players("all"), manyEntries(3)...)
		served, building := fixture.states(t)
		if !served.Served || served.ID != "first" || served.Version != fixture.lastState.Version || served.Watermark.Pos != 10 || building.ID != "" {
			t.Fatalf("served %+v, building %+v", served, building)
		}
		fixture.begin(t, "second", "first")
		before := fixture.lastState
		served, building = fixture.states(t)
		if served.ID != "first" || building.ID != "second" || building.ReplacedID != "first" || building.Served || !building.Loading ||
			building.Version != before.Version || !reflect.DeepEqual(building.Progress, before.Progress) {
			t.Fatalf("served %+v, building %+v", served, building)
		}
		fixture.commit(t, fixture.transaction(12, fixture.addEntries(players("all"), manyEntries(5)...)))
		if slice, err := fixture.ReadSlice(t.Context(), fixture.rankingID("all"), lb.SliceRequest{Anchor: lb.Top}); err != nil || slice.Total != 3 {
			t.Fatalf("read %d, %v, before the board set is published", slice.Total, err)
		}
		fixture.publish(t)
		if slice, err := fixture.ReadSlice(t.Context(), fixture.rankingID("all"), lb.SliceRequest{Anchor: lb.Top}); err != nil || slice.Total != 5 {
			t.Fatalf("read %d, %v, after the board set is published", slice.Total, err)
		}
		served, building = fixture.states(t)
		if served.ID != "second" || building.ID != "" {
			t.Fatalf("served %+v, building %+v", served, building)
		}
	})
}

func TestOnlyOneBoardSetIsBuilt(t *testing.T) {
	eachStore(t, func(t *testing.T, fixture *storeFixture) {
		fixture.begin(t, "one", "")
		for _, replacedID := range []string{"", "other"} {
			fixture.begin(t, "late", replacedID)
			if _, building := fixture.states(t); building.ID != "one" {
				t.Fatalf("building %+v", building)
			}
		}
		fixture.begin(t, "two", "one")
		fixture.begin(t, "two", "one") // repeated, as after a timeout
		if _, building := fixture.states(t); building.ID != "two" {
			t.Fatalf("building %+v", building)
		}
		fixture.commit(t, fixture.transaction(10))
		fixture.publish(t)
		fixture.begin(t, "three", "one") // the replaced board set is not served
		if served, building := fixture.states(t); served.ID != "two" || building.ID != "" {
			t.Fatalf("served %+v, building %+v", served, building)
		}
	})
}

func TestOnlyACompleteBoardSetIsPublished(t *testing.T) {
	eachStore(t, func(t *testing.T, fixture *storeFixture) {
		fixture.begin(t, "one", "")
		_, building := fixture.states(t)
		for name, change := range map[string]func(*lb.BoardSetState){
			"still loading":       func(*lb.BoardSetState) {},
			"another id":          func(st *lb.BoardSetState) { st.ID = "other" },
			"another replaced id": func(st *lb.BoardSetState) { st.ReplacedID = "other" },
		} {
			state := building
			change(&state)
			if err := fixture.Publish(t.Context(), state); err != nil {
				t.Fatal(err)
			}
			if served, _ := fixture.states(t); served.ID != "" {
				t.Fatalf("%s: served %+v", name, served)
			}
		}
		fixture.commit(t, fixture.transaction(10))
		fixture.publish(t)
		if served, _ := fixture.states(t); served.ID != "one" {
			t.Fatalf("served %+v", served)
		}
		if err := fixture.Publish(t.Context(), building); err != nil {
			t.Fatal(err)
		}
		if served, _ := fixture.states(t); served.Version != fixture.lastState.Version {
			t.Fatalf("published twice: %+v", served)
		}
	})
}

func (s *storeFixture) servedConfigs(t *testing.T) []lb.Config {
	t.Helper()
	configs, err := s.ServedConfigs(t.Context(), s.cfg.Game)
	if err != nil {
		t.Fatal(err)
	}
	return configs
}

func TestServedConfigsListsTheNewestFirst(t *testing.T) {
	eachStore(t, func(t *testing.T, fixture *storeFixture) {
		zone, err := time.LoadLocation("America/St_Johns")
		if err != nil {
			t.Fatal(err)
		}
		old := fixture.cfg
		changed := fixture.cfg
		changed.Weights.Accuracy++
		changed.Location = zone
		if configs := fixture.servedConfigs(t); configs != nil {
			t.Fatalf("configs %+v without boards", configs)
		}
		fixture.publishWith(t, players("all"), manyEntries(3)...)
		fixture.cfg = changed
		fixture.begin(t, "changed", "")
		if configs := fixture.servedConfigs(t); !reflect.DeepEqual(configs, []lb.Config{old}) {
			t.Fatalf("configs %+v, want %+v", configs, old)
		}
		fixture.commit(t, fixture.transaction(10))
		fixture.publish(t)
		if configs := fixture.servedConfigs(t); !reflect.DeepEqual(configs, []lb.Config{changed, old}) {
			t.Fatalf("configs %+v, want %+v and %+v", configs, changed, old)
		}
		fixture.cfg = old
		fixture.begin(t, "again", "first")
		fixture.commit(t, fixture.transaction(10))
		fixture.publish(t)
		if configs := fixture.servedConfigs(t); !reflect.DeepEqual(configs, []lb.Config{old, changed}) {
			t.Fatalf("configs %+v, want %+v and %+v", configs, old, changed)
		}
		if err := fixture.Sweep(t.Context(), old.Game, old.Hash(), 2001); err != nil {
			t.Fatal(err)
		}
		if configs := fixture.servedConfigs(t); !reflect.DeepEqual(configs, []lb.Config{old}) {
			t.Fatalf("configs %+v after the sweep, want %+v", configs, old)
		}
	})
}

func TestSweepRemovesAllButServedBoardSets(t *testing.T) {
	eachStore(t, func(t *testing.T, fixture *storeFixture) {
		fixture.publishWith(t, players("all"), manyEntries(3)...)
		keysBefore := fixture.allKeys(t)
		old := fixture.cfg
		fixture.begin(t, "abandoned-1", "first") // it is replaced while it is loading, so its progress does not list its boards
		tx := fixture.transaction(12, fixture.addEntries(players("2026-10-01"), manyEntries(3)...), fixture.addEntries(lb.Board{Kind: lb.Teams, Span: "7d.1"}, manyEntries(3)...))
		tx.Loading, tx.Progress = true, lb.Progress{}
		tx.PastDaySizes = []lb.DaySizes{{Day: "2026-10-01", Sizes: map[lb.Kind]int64{lb.Players: 3}}}
		fixture.commit(t, tx)
		fixture.begin(t, "abandoned-2", "abandoned-1")
		fixture.cfg.MinAnswers++
		fixture.publishWith(t, players("all"), manyEntries(7)...)
		sweep := func(before int64) {
			t.Helper()
			if err := fixture.Sweep(t.Context(), old.Game, old.Hash(), before); err != nil {
				t.Fatal(err)
			}
		}
		sweep(2000)
		if slice, err := fixture.ReadSlice(t.Context(), fixture.rankingID("all"), lb.SliceRequest{Anchor: lb.Top}); err != nil || slice.Total != 7 {
			t.Fatalf("Sweep removed boards that were just written: %d, %v", slice.Total, err)
		}
		sweep(2001)
		if _, err := fixture.ReadSlice(t.Context(), fixture.rankingID("all"), lb.SliceRequest{Anchor: lb.Top}); !errors.Is(err, lb.ErrNotReady) {
			t.Fatalf("the boards of the other configuration: %v", err)
		}
		fixture.cfg = old
		fixture.begin(t, "third", "abandoned-2")
		fixture.commit(t, fixture.transaction(10, fixture.addEntries(players("all"), manyEntries(3)...)))
		fixture.publish(t)
		sweep(2001)
		if got := fixture.allKeys(t); len(got) != len(keysBefore) {
			t.Fatalf("after the sweep the keys are %v, want %v", got, keysBefore)
		}
	})
}

func TestALostStateIsNotReady(t *testing.T) {
	eachStore(t, func(t *testing.T, fixture *storeFixture) {
		boardSet := fixture.publishWith(t, players("all"), manyEntries(3)...)
		stateKey := "{b:" + fixture.cfg.Game + "}:" + boardSet.ID + ":state"
		if !slices.Contains(fixture.allKeys(t), stateKey) {
			t.Fatalf("no %s in %v", stateKey, fixture.allKeys(t))
		}
		if err := fixture.rdb.Del(t.Context(), stateKey).Err(); err != nil {
			t.Fatal(err)
		}
		if served, _ := fixture.states(t); served.ID != boardSet.ID || served.Version != "" {
			t.Fatalf("served %+v", served)
		}
		if _, err := fixture.ReadSlice(t.Context(), fixture.rankingID("all"), lb.SliceRequest{Anchor: lb.Top}); !errors.Is(err, lb.ErrNotReady) {
			t.Fatalf("a lost board set: %v", err)
		}
		fixture.begin(t, "second", boardSet.ID)
		fixture.commit(t, fixture.transaction(10))
		fixture.publish(t)
		if served, _ := fixture.states(t); served.ID != "second" || served.Version != fixture.lastState.Version {
			t.Fatalf("served %+v", served)
		}
	})
}
