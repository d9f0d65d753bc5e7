package redisstore_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	lb "laststand/internal/leaderboard"

	"laststand/internal/testenv"
)

func TestABoardSetIsBuiltWhileAnotherIsServed(t *testing.T) {
	eachStore(t, func(t *testing.T, fixture *storeFixture) {
		if state := fixture.served(t); state.ID != "" || state.PendingBuild != "" {
			t.Fatalf("served %+v of nothing", state)
		}
		fixture.publishWith(t, players("all"), manyEntries(3)...)
		first := fixture.lastState
		if state := fixture.served(t); !reflect.DeepEqual(state, lb.BoardSetState{BoardSet: first.BoardSet, Version: first.Version, Progress: first.Progress}) {
			t.Fatalf("served %+v, want %+v", state, first)
		}
		fixture.begin(t, "second")
		if state := fixture.served(t); state.ID != "first" || state.Version != first.Version || state.PendingBuild != "second" {
			t.Fatalf("served %+v", state)
		}
		fixture.commit(t, fixture.transaction(12, put(players("all"), manyEntries(5)...)))
		if slice, err := fixture.ReadSlice(t.Context(), fixture.rankingID("all"), lb.SliceRequest{Anchor: lb.Top}); err != nil || slice.Total != 3 {
			t.Fatalf("read %d, %v, before the board set is published", slice.Total, err)
		}
		fixture.publish(t)
		if slice, err := fixture.ReadSlice(t.Context(), fixture.rankingID("all"), lb.SliceRequest{Anchor: lb.Top}); err != nil || slice.Total != 5 {
			t.Fatalf("read %d, %v, after the board set is published", slice.Total, err)
		}
		if state := fixture.served(t); state.ID != "second" || state.PendingBuild != "" {
			t.Fatalf("served %+v", state)
		}
	})
}

func TestARequestedBuildIsPendingUntilItIsPublished(t *testing.T) {
	eachStore(t, func(t *testing.T, fixture *storeFixture) {
		for _, reason := range []string{"asked", "drift"} {
			testenv.NoError(t, fixture.RequestBuild(t.Context(), fixture.cfg.Game, fixture.cfg.Hash(), reason))
			if state := fixture.served(t); state.ID != "" || state.PendingBuild != "asked" {
				t.Fatalf("state %+v, want the first request", state)
			}
		}
		fixture.publishWith(t, players("all"), manyEntries(3)...)
		if state := fixture.served(t); state.PendingBuild != "" {
			t.Fatalf("the build %q is pending after the publication", state.PendingBuild)
		}
	})
}

// Of two nodes that build at the same time, only the one that began last publishes.
func TestOnlyTheLastBegunBoardSetIsPublished(t *testing.T) {
	eachStore(t, func(t *testing.T, fixture *storeFixture) {
		one := fixture.begin(t, "one")
		fixture.commit(t, fixture.transaction(10))
		for range 2 { // repeated, as after a timeout
			fixture.begin(t, "two")
		}
		testenv.NoError(t, fixture.Publish(t.Context(), one))
		if state := fixture.served(t); state.ID != "" || state.PendingBuild != "two" {
			t.Fatalf("served %+v", state)
		}
		fixture.commit(t, fixture.transaction(10))
		fixture.publish(t)
		fixture.publish(t)
		if state := fixture.served(t); state.ID != "two" || state.Version != fixture.lastState.Version {
			t.Fatalf("served %+v", state)
		}
	})
}

func TestOnlyACompleteBoardSetIsPublished(t *testing.T) {
	eachStore(t, func(t *testing.T, fixture *storeFixture) {
		loading := fixture.begin(t, "one")
		fixture.publish(t)
		if state := fixture.served(t); state.ID != "" {
			t.Fatalf("served %+v, which is still loading", state)
		}
		fixture.commit(t, fixture.transaction(10))
		stateKey := "{b:" + fixture.cfg.Game + "}:" + loading.ID + ":state"
		for name, corrupt := range map[string]error{
			"torn": fixture.rdb.HSet(t.Context(), stateKey, "version", "torn").Err(),
			"lost": fixture.rdb.HDel(t.Context(), stateKey, "version").Err(),
		} {
			fixture.publish(t)
			if state := fixture.served(t); corrupt != nil || state.ID != "" {
				t.Fatalf("%s: served %+v, %v", name, state, corrupt)
			}
		}
		testenv.NoError(t, fixture.rdb.HSet(t.Context(), stateKey, "version", fixture.lastState.Version).Err())
		fixture.publish(t)
		if state := fixture.served(t); state.ID != "one" {
			t.Fatalf("served %+v", state)
		}
	})
}

func (s *storeFixture) checkServedConfig(t *testing.T, want lb.Config) {
	t.Helper()
	last, found, err := s.ServedConfig(t.Context(), s.cfg.Game)
	if err != nil || found != (want.Game != "") || !reflect.DeepEqual(last, want) {
		t.Fatalf("ServedConfig returned %+v, %t, %v, want %+v", last, found, err, want)
	}
}

func TestServedConfigIsThatOfTheBoardsThatWereWrittenLast(t *testing.T) {
	eachStore(t, func(t *testing.T, fixture *storeFixture) {
		commitAt := func(now, pos int64) {
			t.Helper()
			tx := fixture.transaction(pos)
			tx.PlannedAt = now
			fixture.commit(t, tx)
		}
		fixture.cfg.Location = nil // it is not stored
		old := fixture.cfg
		changed := fixture.cfg
		changed.Weights.Accuracy++
		fixture.checkServedConfig(t, lb.Config{})
		fixture.publishWith(t, players("all"), manyEntries(3)...)
		fixture.cfg = changed
		fixture.begin(t, "changed")
		fixture.checkServedConfig(t, old)
		commitAt(2001, 10)
		fixture.checkServedConfig(t, old) // the changed boards are not served yet
		fixture.publish(t)
		fixture.checkServedConfig(t, changed)
		fixture.cfg = old
		fixture.begin(t, "again")
		commitAt(2002, 10)
		fixture.publish(t)
		fixture.checkServedConfig(t, old)
		testenv.NoError(t, fixture.Sweep(t.Context(), old.Game, old.Hash(), 2002))
		fixture.checkServedConfig(t, old)
		if state, err := fixture.ServedState(t.Context(), changed.Game, changed.Hash()); err != nil || state.ID != "" {
			t.Fatalf("state %+v, %v after the sweep", state, err)
		}
	})
}

func TestSweepRemovesAllButServedBoardSets(t *testing.T) {
	eachStore(t, func(t *testing.T, fixture *storeFixture) {
		fixture.publishWith(t, players("all"), manyEntries(3)...)
		keysBefore := fixture.allKeys(t)
		old := fixture.cfg
		fixture.begin(t, "abandoned-1") // it is replaced while it is loading, so its progress does not list its boards
		tx := fixture.transaction(12, put(players("2026-10-01"), manyEntries(3)...), put(lb.Board{Kind: lb.Teams, Span: "7d.1"}, manyEntries(3)...))
		tx.Loading, tx.Progress = true, lb.Progress{}
		fixture.commit(t, tx)
		fixture.begin(t, "abandoned-2")
		fixture.cfg.MinAnswers++
		fixture.publishWith(t, players("all"), manyEntries(7)...)
		sweep := func(before int64) {
			t.Helper()
			testenv.NoError(t, fixture.Sweep(t.Context(), old.Game, old.Hash(), before))
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
		fixture.begin(t, "third")
		fixture.commit(t, fixture.transaction(10, put(players("all"), manyEntries(3)...)))
		sweep(2001) // keeps the board set that is being built
		fixture.publish(t)
		if served := fixture.served(t); served.ID != "third" {
			t.Fatalf("served %+v", served)
		}
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
		testenv.NoError(t, fixture.rdb.Del(t.Context(), stateKey).Err())
		if served := fixture.served(t); served.ID != boardSet.ID || served.Version != "" {
			t.Fatalf("served %+v", served)
		}
		if _, err := fixture.ReadSlice(t.Context(), fixture.rankingID("all"), lb.SliceRequest{Anchor: lb.Top}); !errors.Is(err, lb.ErrNotReady) {
			t.Fatalf("a lost board set: %v", err)
		}
		fixture.begin(t, "second")
		fixture.commit(t, fixture.transaction(10))
		fixture.publish(t)
		if served := fixture.served(t); served.ID != "second" || served.Version != fixture.lastState.Version {
			t.Fatalf("served %+v", served)
		}
	})
}

// afterListing is a hook that calls a function after each SMEMBERS outside of a pipeline.
type afterListing func(ctx context.Context)

func (afterListing) DialHook(next redis.DialHook) redis.DialHook { return next }

func (afterListing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (f afterListing) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if cmd.Name() == "smembers" {
			f(ctx)
		}
		return err
	}
}

// Boards that a late transaction adds after a sweep has listed those of a board set would stay
// for ever.
func TestNoTransactionAppliesToABoardSetThatIsBeingRemoved(t *testing.T) {
	eachStore(t, func(t *testing.T, fixture *storeFixture) {
		removed := fixture.publishWith(t, players("all"), manyEntries(3)...)
		late := fixture.transaction(11, put(players("2026-11-21"), manyEntries(2)...))
		fixture.begin(t, "second")
		fixture.commit(t, fixture.transaction(10))
		fixture.publish(t)
		var commitErr error
		fixture.rdb.AddHook(afterListing(func(ctx context.Context) { commitErr = fixture.Commit(ctx, removed, []lb.Transaction{late}) }))
		testenv.NoError(t, fixture.Sweep(t.Context(), fixture.cfg.Game, fixture.cfg.Hash(), 0))
		if !errors.Is(commitErr, lb.ErrStale) {
			t.Fatalf("a transaction during the removal: %v", commitErr)
		}
	})
}
