package leaderboard

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestDriftIsFoundCountedAndRepaired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPlayedGame(t)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			w.applier.checkPeriodically(ctx, w.cfg.Game)
		}()
		m, game := w.applier.metrics, w.cfg.Game
		time.Sleep(driftInterval + time.Minute)
		synctest.Wait()
		if n := testutil.ToFloat64(m.drift.WithLabelValues(game)); n != 0 {
			t.Errorf("%v differences were counted on correct boards", n)
		}
		if at := testutil.ToFloat64(m.verified.WithLabelValues(game)); at != 1_760_918_400 {
			t.Errorf("they were verified at %v", at)
		}
		w.store.mu.Lock()
		corruptEntry(w.servedCopy(), Board{Players, string(All)}, func(h *BoardEntry) { h.Aggregates.Score++ })
		w.store.mu.Unlock()
		time.Sleep(driftInterval)
		synctest.Wait()
		if n := testutil.ToFloat64(m.drift.WithLabelValues(game)); n != 1 {
			t.Errorf("%v differences were counted instead of 1", n)
		}
		if on, err := w.applier.IsBuilding(t.Context(), game); err != nil || !on {
			t.Errorf("IsBuilding returned %v, %v", on, err)
		}
		if err := w.build(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.checkBoards(t)
		if n := testutil.ToFloat64(m.builds.WithLabelValues(game, drifted)); n != 1 {
			t.Errorf("%v builds were counted because of differences", n)
		}
		stop()
		<-ended
	})
}

func TestOneNodeAtATimeChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPlayedGame(t)
		corruptEntry(w.servedCopy(), Board{Players, string(All)}, func(h *BoardEntry) { h.Aggregates.Score++ })
		duty := Duty{Game: w.cfg.Game, ConfigHash: w.cfg.Hash(), Name: "verify"}
		if mine, err := w.store.AcquireLease(t.Context(), duty, "another", driftLease); err != nil || !mine {
			t.Fatal(mine, err)
		}
		if err := w.applier.checkDrift(t.Context(), w.cfg); err != nil {
			t.Error(err)
		}
		if n := testutil.ToFloat64(w.applier.metrics.drift.WithLabelValues(w.cfg.Game)); n != 0 {
			t.Errorf("%v differences were counted without the lease", n)
		}
	})
}
