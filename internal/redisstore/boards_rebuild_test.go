package redisstore_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	lb "laststand/internal/leaderboard"
	"laststand/internal/redisstore"
	"laststand/internal/testenv"
)

// publishHookStore calls its hook before and after a board set is published.
type publishHookStore struct {
	*redisstore.Boards
	hook func(published bool)
}

func (s publishHookStore) Publish(ctx context.Context, boardSet lb.BoardSet) error {
	s.hook(false)
	err := s.Boards.Publish(ctx, boardSet)
	s.hook(true)
	return err
}

func TestReadersSeeOldOrNewBoardsDuringARebuild(t *testing.T) {
	eachTestCluster(t, 1, func(t *testing.T, cluster *testCluster) {
		cluster.addResults()
		cluster.ledger.startDay()
		cluster.addResults()
		cluster.apply(t, 0)
		oldPage := cluster.page(t, 0, lb.Query{Window: lb.All})
		cluster.ledger.rollBack(13)
		cluster.ledger.addPlayerResult("p9", newAggregates(5))
		cluster.ledger.addResult(lb.Teams, "t1", newAggregates(5))
		var pages []lb.Page
		applier := cluster.applierOn(publishHookStore{cluster.nodes[0].store, func(bool) {
			pages = append(pages, cluster.page(t, 0, lb.Query{Window: lb.All}))
		}})
		testenv.NoError(t, applier.Apply(t.Context(), cluster.cfg.Game))
		cluster.checkAll(t, 0, 2)
		if len(pages) != 2 || !reflect.DeepEqual(pages[0], oldPage) || reflect.DeepEqual(pages[1], oldPage) {
			t.Fatalf("readers saw %+v, before the rebuild %+v", pages, oldPage)
		}
		cluster.checkOnlyServedBoardsAreLeft(t)
		cluster.checkAll(t, 0, 2)
	})
}

// checkOnlyServedBoardsAreLeft calls Sweep, and checks that only the served board set is left.
func (c *testCluster) checkOnlyServedBoardsAreLeft(t failingTest) {
	t.Helper()
	store := c.nodes[0].store
	if err := store.Sweep(t.Context(), c.cfg.Game, c.cfg.Hash(), fixedNow()+1); err != nil {
		t.Fatalf("sweep: %v", err)
	}
	served, err := store.ServedState(t.Context(), c.cfg.Game, c.cfg.Hash())
	if err != nil {
		t.Fatalf("served state: %v", err)
	}
	prefix := "{b:" + c.cfg.Game + "}:"
	keptKeys := []string{prefix + "served", prefix + "sets"}
	for _, key := range c.keys(t) {
		if !strings.HasPrefix(key, prefix+served.ID+":") && !strings.HasPrefix(key, prefix+"lease:") && !slices.Contains(keptKeys, key) {
			t.Fatalf("%s was not removed; the served board set is %s", key, served.ID)
		}
	}
}

func TestBoardsOfTwoConfigsExistUntilOneIsAbandoned(t *testing.T) {
	eachTestCluster(t, 1, func(t *testing.T, cluster *testCluster) {
		cluster.addResults()
		cluster.apply(t, 0)
		old, changed := cluster.cfg, cluster.cfg
		changed.Weights.Accuracy++
		cluster.nodes = append(cluster.nodes, cluster.newNode(changed))
		cluster.ledger.addPlayerResult("p4", newAggregates(4))
		cluster.apply(t, 1) // applies to the boards of the old configuration, the fallback
		cluster.checkAll(t, 1, 3)
		cluster.cfg = changed
		cluster.maintainAll(t, 1)
		for range 2 { // nodes of both configurations work at the same time
			for i, cfg := range []lb.Config{old, changed} {
				cluster.cfg = cfg
				cluster.apply(t, i)
				cluster.checkAll(t, i, 3)
			}
			cluster.ledger.addPlayerResult("p4", newAggregates(4))
			testenv.NoError(t, cluster.nodes[1].store.Sweep(t.Context(), changed.Game, changed.Hash(), fixedNow()))
			for _, cfg := range []lb.Config{old, changed} {
				if state, err := cluster.nodes[1].store.ServedState(t.Context(), cfg.Game, cfg.Hash()); err != nil || state.Version == "" {
					t.Fatalf("state %+v, %v: Sweep removed boards that were just written", state, err)
				}
			}
		}
		cluster.apply(t, 1)
		cluster.checkOnlyServedBoardsAreLeft(t)
		cluster.checkAll(t, 1, 3)
	})
}
