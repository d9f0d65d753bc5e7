package redisboard_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	lb "laststand/internal/leaderboard"
	"laststand/internal/leaderboard/redisboard"
)

// publishHookStore calls its hook before and after a board set is published.
type publishHookStore struct {
	*redisboard.Store
	hook func(published bool)
}

func (s publishHookStore) Publish(ctx context.Context, state lb.State) error {
	s.hook(false)
	err := s.Store.Publish(ctx, state)
	s.hook(true)
	return err
}

func TestARebuildShowsOldOrNewAndLeavesNothing(t *testing.T) {
	eachCluster(t, 1, func(t *testing.T, w *testCluster) {
		w.addResults()
		w.ledger.startDay()
		w.addResults()
		w.apply(t, 0)
		old := w.page(t, 0, lb.Query{Window: lb.All})
		w.ledger.rollBack(13)
		w.ledger.result("p9", newAggregates(5))
		w.ledger.addResult(lb.Teams, "t1", newAggregates(5))
		var seen []lb.Page
		applier := w.applierOn(publishHookStore{w.nodes[0].store, func(bool) {
			seen = append(seen, w.page(t, 0, lb.Query{Window: lb.All}))
		}})
		if err := applier.Apply(t.Context(), w.cfg.Game); err != nil {
			t.Fatal(err)
		}
		w.checkAll(t, 0, 2)
		if len(seen) != 2 || !reflect.DeepEqual(seen[0], old) || reflect.DeepEqual(seen[1], old) {
			t.Fatalf("readers saw %+v, before the rebuild %+v", seen, old)
		}
		w.checkNothingLeft(t)
		w.checkAll(t, 0, 2)
	})
}

// checkOnlyServedBoardsAreLeft sweeps, and checks that only the served board set is left.
func (w *testCluster) checkNothingLeft(t failingTest) {
	t.Helper()
	store := w.nodes[0].store
	if err := store.Sweep(t.Context(), w.cfg.Game, w.cfg.Hash(), fixedNow()+1); err != nil {
		t.Fatalf("sweep: %v", err)
	}
	served, err := store.ServedState(t.Context(), w.cfg.Game, w.cfg.Hash())
	if err != nil {
		t.Fatalf("served state: %v", err)
	}
	tag := "{b:" + w.cfg.Game + "}:"
	kept := []string{tag + "served", tag + "forms", tag + "published"}
	for _, key := range w.keys(t) {
		if !strings.HasPrefix(key, tag+served.ID+":") && !strings.HasPrefix(key, tag+"lease:") && !slices.Contains(kept, key) {
			t.Fatalf("%s was not removed; the served board set is %s", key, served.ID)
		}
	}
}

func TestBoardsOfTwoConfigsExistUntilOneIsAbandoned(t *testing.T) {
	eachCluster(t, 1, func(t *testing.T, w *testCluster) {
		w.addResults()
		w.apply(t, 0)
		old, changed := w.cfg, w.cfg
		changed.Weights.Accuracy++
		w.nodes = append(w.nodes, w.node(changed))
		w.ledger.result("p4", newAggregates(4))
		w.apply(t, 1) // applies to the boards of the old configuration, the fallback
		w.checkAll(t, 1, 3)
		w.cfg = changed
		w.maintainAll(t, 1)
		for range 2 { // nodes of both configurations work at the same time
			for i, cfg := range []lb.Config{old, changed} {
				w.cfg = cfg
				w.apply(t, i)
				w.checkAll(t, i, 3)
			}
			w.ledger.result("p4", newAggregates(4))
			if err := w.nodes[1].store.Sweep(t.Context(), changed.Game, changed.Hash(), fixedNow()); err != nil {
				t.Fatal(err)
			}
			if forms, err := w.nodes[1].store.ServedConfigs(t.Context(), changed.Game); err != nil || len(forms) != 2 {
				t.Fatalf("configs %+v, %v: Sweep removed boards that were just written", forms, err)
			}
		}
		w.apply(t, 1)
		w.checkNothingLeft(t)
		w.checkAll(t, 1, 3)
	})
}
