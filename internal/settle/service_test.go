package settle

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"laststand/internal/leaderboard"
	"laststand/internal/match"
	"laststand/internal/taskqueue"
)

func TestResultIsNotifiedAfterLedgerAndLeaderboards(t *testing.T) {
	runWithEnv(t, func(t *testing.T, env *testEnv) {
		service := env.start(t, nil)
		service.Offer(env.endMatch("m0"))
		time.Sleep(time.Second)
		env.checkActions(t, "commit m0", "settled m0", "apply demo", "notify m0")
		env.stop()
		env.checkAllSettled(t, 1)
		if n := env.metricValue(t, "laststand_settle_results_total", ""); n != 1 {
			t.Errorf("settled %v", n)
		}
	})
}

func TestUncountedResultIsSettledWithoutNotification(t *testing.T) {
	runWithEnv(t, func(t *testing.T, env *testEnv) {
		service := env.start(t, nil)
		result := env.endMatch("m0")
		result.CountsForLeaderboards = false
		service.Offer(result)
		time.Sleep(time.Second)
		env.stop()
		env.checkActions(t, "commit m0", "settled m0")
	})
}

// Only the ledger knows that a result is above a limit. This also applies to a result
// that the ledger had already.
func TestResultAboveLimitIsNotNotified(t *testing.T) {
	runWithEnv(t, func(t *testing.T, env *testEnv) {
		env.aboveLimit["m0"], env.aboveLimit["m1"], env.inLedger["m1"] = true, true, true
		env.endMatch("m1") // left for the sweep
		service := env.start(t, nil)
		service.Offer(env.endMatch("m0"))
		time.Sleep(10 * time.Second)
		env.stop()
		if len(env.notified) != 0 || len(env.pending) != 0 {
			t.Errorf("notified %v, pending %v", env.notified, env.pending)
		}
	})
}

// A single result waits for others for batchDelay. Results that arrive during a
// commit are committed together in the next commit.
func TestWaitingResultsShareCommit(t *testing.T) {
	runWithEnv(t, func(t *testing.T, env *testEnv) {
		env.latency = 20 * time.Millisecond
		service := env.start(t, nil)
		start := time.Now()
		service.Offer(env.endMatch(matchID(0)))
		time.Sleep(10 * time.Millisecond) // the commit of m0 is under way
		for n := 1; n <= 300; n++ {
			service.Offer(env.endMatch(matchID(n)))
		}
		time.Sleep(15*time.Millisecond + 20*time.Millisecond + 20*time.Millisecond)
		synctest.Wait()
		if elapsed := time.Since(start); elapsed != 65*time.Millisecond {
			t.Errorf("took %s", elapsed)
		}
		env.checkAllSettled(t, 301)
		env.stop()
		if len(env.batches) != 3 || env.batches[0] != 1 || env.batches[1] != 256 || env.batches[2] != 44 {
			t.Errorf("batches %v", env.batches)
		}
		if n := env.metricValue(t, "laststand_settle_batch_size", ""); n != 3 {
			t.Errorf("%v batches counted", n)
		}
	})
}

func TestBatchIsLimitedByStandings(t *testing.T) {
	runWithEnv(t, func(t *testing.T, env *testEnv) {
		env.latency = time.Millisecond
		service := env.start(t, nil)
		for n := range 5 {
			result := env.endMatch(matchID(n))
			result.Standings = make([]match.Standing, fullBatchStandings/2)
			service.Offer(result)
		}
		time.Sleep(time.Second)
		env.stop()
		env.checkAllSettled(t, 5)
		if len(env.batches) != 3 {
			t.Errorf("batches %v", env.batches)
		}
	})
}

func TestSweptBatchIsLimitedByStandings(t *testing.T) {
	runWithEnv(t, func(t *testing.T, env *testEnv) {
		for n := range 5 {
			env.endMatch(matchID(n))
			result := env.pending[matchID(n)]
			result.Standings = make([]match.Standing, fullBatchStandings/2)
			env.pending[matchID(n)] = result
		}
		time.Sleep(2 * time.Second)
		env.start(t, nil)
		env.stop()
		env.checkAllSettled(t, 5)
		if !slices.Equal(env.batches, []int{2, 2, 1}) {
			t.Errorf("batches %v", env.batches)
		}
	})
}

// A result whose standings are read in pages is settled when a sweep has read all of
// them.
func TestPagedResultIsSettledBySweep(t *testing.T) {
	runWithEnv(t, func(t *testing.T, env *testEnv) {
		service := env.start(t, nil)
		result := env.endMatch("m0")
		result.Paged, result.Standings = true, nil
		if service.Offer(result) {
			t.Error("Offer accepted a result without standings")
		}
		time.Sleep(time.Second)
		env.withLock(func() {
			if len(env.batches) != 0 {
				t.Errorf("batches %v", env.batches)
			}
		})
		time.Sleep(10 * time.Second)
		env.checkAllSettled(t, 1)
		env.stop()
		if n := env.failureCount(t, reasonQueueFull); n != 0 {
			t.Errorf("%v failures", n)
		}
	})
}

func TestLedgerOutageDelaysSettlement(t *testing.T) {
	runWithEnv(t, func(t *testing.T, env *testEnv) {
		env.ledgerFault = func([]match.Result) error { return errDown }
		service := env.start(t, func(config *Config) { config.QueueSize, config.BatchSize = 50, 10 })
		refused := 0
		for n := range 200 { // more than the queue can hold
			if !service.Offer(env.endMatch(matchID(n))) {
				refused++
			}
			time.Sleep(100 * time.Millisecond)
		}
		env.withLock(func() {
			if refused < 200-50-10 || len(env.inLedger) != 0 {
				t.Errorf("refused %d, in the ledger %d", refused, len(env.inLedger))
			}
		})
		if n := env.failureCount(t, reasonQueueFull); n != float64(refused) {
			t.Errorf("%v refusals counted, there were %d", n, refused)
		}
		if n := env.metricValue(t, "laststand_settle_queue_length", ""); n != 50 {
			t.Errorf("queue gauge %v", n)
		}
		if env.failureCount(t, reasonUnavailable) == 0 {
			t.Error("the outage was not counted")
		}
		env.withLock(func() { env.ledgerFault = func([]match.Result) error { return nil } })
		time.Sleep(time.Minute)
		env.checkAllSettled(t, 200)
	})
}

// The ledger committed, but its answer was lost. The second time it knows the
// matches already, and their players are still notified.
func TestResultIsNotifiedAfterLostCommitReply(t *testing.T) {
	runWithEnv(t, func(t *testing.T, env *testEnv) {
		env.ledgerFault = func([]match.Result) error {
			if env.singleCommits["m0"] > 1 {
				return nil
			}
			env.inLedger["m0"] = true
			return errDown
		}
		service := env.start(t, nil)
		service.Offer(env.endMatch("m0"))
		time.Sleep(time.Minute)
		env.stop()
		env.checkAllSettled(t, 1)
	})
}

func TestStopSettlesOfferedResults(t *testing.T) {
	runWithEnv(t, func(t *testing.T, env *testEnv) {
		env.latency = 10 * time.Millisecond
		service := env.start(t, nil)
		for n := range 1000 {
			service.Offer(env.endMatch(matchID(n)))
		}
		env.stop()
		env.checkAllSettled(t, 1000)
		if service.Offer(env.endMatch("late")) {
			t.Error("a stopped service accepted a result")
		}
		if n := env.failureCount(t, reasonStopped); n != 1 {
			t.Errorf("%v counted as stopped", n)
		}
	})
}

func TestStopEndsAfterStopTimeout(t *testing.T) {
	t.Parallel()
	for name, injectFault := range map[string]func(*testEnv){
		"ledger down":       func(env *testEnv) { env.ledgerFault = func([]match.Result) error { return errDown } },
		"ledger hangs":      func(env *testEnv) { env.latency = time.Hour },
		"leaderboards down": func(env *testEnv) { env.leaderboardsFault = func(string) error { return errDown } },
	} {
		t.Run(name, func(t *testing.T) {
			runWithEnv(t, func(t *testing.T, env *testEnv) {
				injectFault(env)
				service := env.start(t, func(config *Config) { config.BatchSize = 10 })
				for n := range 25 {
					service.Offer(env.endMatch(matchID(n)))
				}
				time.Sleep(time.Second)
				start := time.Now()
				env.stop()
				if elapsed := time.Since(start); elapsed > 5*time.Second {
					t.Errorf("the stop took %s", elapsed)
				}
				if n := env.failureCount(t, reasonStopped) + env.failureCount(t, reasonNotification); n != 25 {
					t.Errorf("%v counted as not settled or not notified, want 25", n)
				}
			})
		})
	}
}

func TestSweepSettlesLeftovers(t *testing.T) {
	runWithEnv(t, func(t *testing.T, env *testEnv) {
		for n := range 1000 { // results of a former process; the ledger has one of them already
			env.endMatch(matchID(n))
		}
		env.inLedger[matchID(7)] = true
		time.Sleep(2 * time.Second)
		env.start(t, nil)
		env.checkAllSettled(t, 1000) // without waiting
	})
}

func TestSweepLeavesFreshResultsToTheirNode(t *testing.T) {
	runWithEnv(t, func(t *testing.T, env *testEnv) {
		env.start(t, nil)
		time.Sleep(1500 * time.Millisecond)
		env.endMatch("m0")
		time.Sleep(time.Second) // the sweep at 2 s found it half a second old
		env.withLock(func() {
			if len(env.singleCommits) != 0 {
				t.Error("the sweep settled a fresh result")
			}
		})
		time.Sleep(2 * time.Second)
		env.checkAllSettled(t, 1)
	})
}

// If a result is offered and a sweep also finds it, its players are notified once.
func TestOfferedAndSweptResultIsNotifiedOnce(t *testing.T) {
	runWithEnv(t, func(t *testing.T, env *testEnv) {
		env.latency = 3 * time.Second // so that the queue outlives sweeps
		service := env.start(t, func(config *Config) { config.BatchSize = 10 })
		for n := range 100 {
			service.Offer(env.endMatch(matchID(n)))
		}
		time.Sleep(5 * time.Minute)
		env.checkAllSettled(t, 100)
		env.stop()
		if n := env.metricValue(t, "laststand_settle_results_total", ""); n != 100 {
			t.Errorf("settled %v", n)
		}
	})
}

// refuse makes the ledger refuse every batch with one of the matches.
func (env *testEnv) refuse(ids ...string) {
	env.ledgerFault = func(batch []match.Result) error {
		for _, result := range batch {
			for _, id := range ids {
				if result.Match == id {
					return errRefused
				}
			}
		}
		return nil
	}
}

func TestRefusedResultDoesNotDelayOthers(t *testing.T) {
	runWithEnv(t, func(t *testing.T, env *testEnv) {
		env.refuse(matchID(3), matchID(5))
		service := env.start(t, func(config *Config) { config.BatchSize = 2 }) // so that the refused results would fill a page
		for n := range 20 {
			service.Offer(env.endMatch(matchID(n)))
		}
		time.Sleep(5 * time.Second)
		env.withLock(func() {
			if len(env.inLedger) != 18 || len(env.pending) != 2 {
				t.Errorf("%d in the ledger, %d pending: want 18 and 2", len(env.inLedger), len(env.pending))
			}
		})
		env.endMatch(matchID(20)) // the sweep finds it behind the refused results
		time.Sleep(5 * time.Second)
		env.withLock(func() {
			if !env.inLedger[matchID(20)] {
				t.Error("the sweep does not find a result behind refused ones")
			}
			if len(env.deadLetters) != 0 {
				t.Errorf("dead letters within 10 s: %v", env.deadLetters)
			}
		})
	})
}

func TestOutageOfPendingStoreDoesNotRepeatNotification(t *testing.T) {
	runWithEnv(t, func(t *testing.T, env *testEnv) {
		env.markSettledFault = func() error { return errDown }
		service := env.start(t, nil)
		for n := range 10 {
			service.Offer(env.endMatch(matchID(n)))
		}
		time.Sleep(10 * time.Second)
		env.withLock(func() {
			if len(env.inLedger) != 10 || len(env.pending) != 10 || len(env.notified) != 0 || env.failureCount(t, reasonPending) == 0 {
				t.Errorf("%d in the ledger, %d pending, %d notified", len(env.inLedger), len(env.pending), len(env.notified))
			}
			env.markSettledFault = func() error { return nil }
		})
		time.Sleep(10 * time.Second)
		env.checkAllSettled(t, 10)
	})
}

// Pending gets the ratings of the ledger, and whether the ledger counts the result. It does
// not count a dead letter.
func TestResultsAreMarkedAsTheLedgerHasThem(t *testing.T) {
	runWithEnv(t, func(t *testing.T, env *testEnv) {
		env.aboveLimit["above"] = true
		env.refuse("refused")
		service := env.start(t, nil)
		for _, id := range []string{"above", "counted", "refused"} {
			service.Offer(env.endMatch(id))
		}
		time.Sleep(time.Minute)
		env.stop()
		for id, counts := range map[string]bool{"above": false, "counted": true, "refused": false} {
			if marked, ok := env.marked[id]; !ok || marked.CountsForLeaderboards != counts || counts && marked.Standings[0].Score != ledgerScore {
				t.Errorf("%s: %t, %+v", id, ok, marked)
			}
		}
	})
}

func TestLeaderboardOutageOfOneGameDoesNotDelayOthers(t *testing.T) {
	runWithEnv(t, func(t *testing.T, env *testEnv) {
		env.leaderboardsFault = func(game string) error {
			if game == "other" {
				return errDown
			}
			return nil
		}
		service := env.start(t, nil)
		delayed := env.endMatch("m0")
		delayed.Game = "other"
		service.Offer(delayed)
		service.Offer(env.endMatch("m1"))
		time.Sleep(time.Second)
		env.withLock(func() {
			if len(env.pending) != 0 || env.notified["m1"] != 1 || env.notified["m0"] != 0 {
				t.Errorf("pending %v, notified %v", env.pending, env.notified)
			}
		})
		env.withLock(func() { env.leaderboardsFault = func(string) error { return nil } })
		time.Sleep(10 * time.Second)
		env.checkAllSettled(t, 2)
	})
}

// The players of a game that was removed from the configuration are not notified. The results
// do not wait for leaderboards that the game will never have.
func TestGameWithoutLeaderboardsIsNotRetried(t *testing.T) {
	runWithEnv(t, func(t *testing.T, env *testEnv) {
		env.leaderboardsFault = func(string) error { return fmt.Errorf("apply: %w", leaderboard.ErrNoGame) }
		service := env.start(t, nil)
		service.Offer(env.endMatch("m0"))
		time.Sleep(time.Minute)
		env.withLock(func() {
			if len(env.pending) != 0 || env.notified["m0"] != 0 {
				t.Errorf("pending %v, notified %v", env.pending, env.notified)
			}
		})
		if n, skipped := env.failureCount(t, reasonLeaderboards), env.failureCount(t, reasonNotification); n != 1 || skipped != 1 {
			t.Errorf("counted %v failures and %v players' results", n, skipped)
		}
	})
}

// While the leaderboards are down, the outbox of a game is bounded. The players of further
// results are not notified, which is counted.
func TestFullOutboxSkipsNotification(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const results = outboxSize + 300
		env := newTestEnv()
		env.leaderboardsFault = func(string) error { return errDown }
		service := env.start(t, nil)
		for n := range results {
			service.notify(t.Context(), match.Result{Game: "demo", Match: matchID(n)})
		}
		env.withLock(func() { env.leaderboardsFault = func(string) error { return nil } })
		time.Sleep(time.Minute)
		env.stop()
		unnotified := env.failureCount(t, reasonNotification)
		if len(env.notified)+int(unnotified) != results || len(env.notified) < outboxSize || unnotified == 0 {
			t.Errorf("%d notified, %v counted as not notified", len(env.notified), unnotified)
		}
	})
}

// Stores fail and recover, and results arrive in any order. Each result is in the
// ledger once, also dead letters after a requeue. Nothing stays pending, and all
// players are notified.
func TestEveryResultIsSettledAfterFaults(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		const n = 60
		faults := rapid.SliceOfN(rapid.IntRange(0, 5), 0, 80).Draw(rt, "faults")
		gaps := rapid.SliceOfN(rapid.IntRange(0, 900), n, n).Draw(rt, "gaps")
		offered := rapid.SliceOfN(rapid.Bool(), n, n).Draw(rt, "offered")
		synctest.Test(t, func(t *testing.T) {
			env := newTestEnv()
			nextFault := func(kind int, err error) error {
				if len(faults) == 0 {
					return nil
				}
				next := faults[0]
				faults = faults[1:]
				if next == kind {
					return err
				}
				return nil
			}
			env.ledgerFault = func([]match.Result) error {
				if err := nextFault(1, errRefused); err != nil {
					return err
				}
				return nextFault(2, errDown)
			}
			env.markSettledFault = func() error { return nextFault(3, errDown) }
			env.leaderboardsFault = func(string) error { return nextFault(4, errDown) }
			service := env.start(t, func(config *Config) { config.QueueSize, config.BatchSize = 5, 3 })
			for i := range n {
				result := env.endMatch(matchID(i))
				if offered[i] {
					service.Offer(result)
				}
				time.Sleep(time.Duration(gaps[i]) * time.Millisecond)
			}
			time.Sleep(time.Hour)
			for id := range env.deadLetters {
				if requeued, err := service.Requeue(t.Context(), id); err != nil || requeued.State != taskqueue.StateDone {
					t.Errorf("%s: %+v, %v", id, requeued, err)
				}
			}
			env.stop()
			env.checkAllSettled(t, n)
		})
	})
}
