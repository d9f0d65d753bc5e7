package leaderboard

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"laststand/internal/testenv"
)

func TestDifferencesAreFoundCountedAndRepaired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fixture := newPlayedGame(t)
		testenv.Run(t, func(ctx context.Context) error { fixture.boards.verifier.run(ctx); return nil })
		metrics, gameName := fixture.boards.metrics, fixture.cfg.Game
		time.Sleep(verifyInterval + time.Minute)
		synctest.Wait()
		if n := testutil.ToFloat64(metrics.differences); n != 0 {
			t.Errorf("%v differences were counted on correct boards", n)
		}
		if verifiedAt := testutil.ToFloat64(metrics.lastVerification); time.Since(time.Unix(int64(verifiedAt), 0)) > time.Minute {
			t.Errorf("the metric last_verification_timestamp_seconds is %v", verifiedAt)
		}
		fixture.store.mu.Lock()
		corruptEntry(fixture.servedBoardSet(), Board{Players, string(All)}, func(entry *BoardEntry) { entry.Aggregates.Score++ })
		fixture.store.mu.Unlock()
		time.Sleep(verifyInterval)
		synctest.Wait()
		if n := testutil.ToFloat64(metrics.differences); n != 1 {
			t.Errorf("%v differences were counted instead of 1", n)
		}
		if isBuilding, err := fixture.IsBuilding(t.Context(), gameName); err != nil || !isBuilding {
			t.Errorf("IsBuilding returned %v, %v", isBuilding, err)
		}
		if err := fixture.build(t.Context()); err != nil {
			t.Fatal(err)
		}
		fixture.checkBoards(t)
		if n := testutil.ToFloat64(metrics.builds.WithLabelValues(reasonDifferences)); n != 1 {
			t.Errorf("%v builds were counted because of differences", n)
		}
	})
}

func TestOneNodeAtATimeVerifies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		game := newPlayedGame(t)
		corruptEntry(game.servedBoardSet(), Board{Players, string(All)}, func(entry *BoardEntry) { entry.Aggregates.Score++ })
		leaseID := LeaseID{Game: game.cfg.Game, Work: "verify"}
		if hasLease, err := game.store.SetLease(t.Context(), leaseID, "another", verifyLeaseTTL); err != nil || !hasLease {
			t.Fatal(hasLease, err)
		}
		if err := game.boards.verifier.verifyInBackground(t.Context()); err != nil {
			t.Error(err)
		}
		if n := testutil.ToFloat64(game.boards.metrics.differences); n != 0 {
			t.Errorf("%v differences were counted without the lease", n)
		}
	})
}
