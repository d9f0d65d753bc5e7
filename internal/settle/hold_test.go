package settle

import (
	"errors"
	"slices"
	"testing"
	"time"

	"laststand/internal/match"
)

var errSchema = errors.New(`column "place" does not exist`)

// An unknown error of the database is not the fault of a result. All results wait
// and are counted, for as long as it lasts. They are settled when it is over.
func TestUnexpectedErrorsMakeNoDeadLetter(t *testing.T) {
	t.Parallel()
	for name, results := range map[string]int{"one result": 1, "many results": 300} {
		t.Run(name, func(t *testing.T) {
			runWithEnv(t, func(t *testing.T, env *testEnv) {
				env.ledgerFault = func([]match.Result) error { return errSchema }
				service := env.start(t, nil)
				for i := range results {
					service.Offer(env.endMatch(matchID(i)))
					time.Sleep(time.Millisecond)
				}
				time.Sleep(3 * time.Hour)
				env.withLock(func() {
					if len(env.deadLetters) != 0 || len(env.pending) != results {
						t.Errorf("%d dead letters, %d pending", len(env.deadLetters), len(env.pending))
					}
					env.ledgerFault = func([]match.Result) error { return nil }
				})
				if env.failureCount(t, reasonUnexpected) == 0 || env.failureCount(t, reasonRefused) != 0 {
					t.Error("the refusals are counted wrong")
				}
				time.Sleep(time.Minute)
				env.stop()
				env.checkAllSettled(t, results)
			})
		})
	}
}

// If more than a few results in a row are refused, each apparently for its own
// fault, something else is wrong.
func TestConsecutiveRefusalsMakeNoDeadLetter(t *testing.T) {
	runWithEnv(t, func(t *testing.T, env *testEnv) {
		env.ledgerFault = func([]match.Result) error { return errRefused }
		service := env.start(t, nil)
		for i := range 20 {
			service.Offer(env.endMatch(matchID(i)))
		}
		time.Sleep(time.Hour)
		env.withLock(func() {
			if len(env.deadLetters) != 0 || len(env.pending) != 20 {
				t.Errorf("%d dead letters, %d pending", len(env.deadLetters), len(env.pending))
			}
			env.ledgerFault = func([]match.Result) error { return nil }
		})
		time.Sleep(time.Minute)
		env.stop()
		env.checkAllSettled(t, 20)
	})
}

// While results of one game wait, results of another game are settled immediately.
// New results of the first game are settled as soon as the ledger accepts them.
func TestHoldAffectsOneGame(t *testing.T) {
	runWithEnv(t, func(t *testing.T, env *testEnv) {
		isRefused := func(result match.Result) bool { return result.Game == "demo" && result.Match != "good" }
		env.ledgerFault = func(batch []match.Result) error {
			if slices.ContainsFunc(batch, isRefused) {
				return errSchema
			}
			return nil
		}
		service := env.start(t, nil)
		for i := range 40 {
			result := env.endMatch(matchID(i))
			if i%2 == 0 {
				result.Game = "other"
				env.withLock(func() { env.pending[result.Match] = result })
			}
			service.Offer(result)
		}
		time.Sleep(time.Second)
		env.withLock(func() {
			if len(env.inLedger) != 20 {
				t.Errorf("%d of the other game's 20 results are settled", len(env.inLedger))
			}
		})
		service.Offer(env.endMatch("good"))
		time.Sleep(30 * time.Second)
		env.withLock(func() {
			if !env.inLedger["good"] || len(env.deadLetters) != 0 || len(env.pending) != 20 {
				t.Errorf("in the ledger %v, %d dead letters, %d pending", env.inLedger["good"], len(env.deadLetters), len(env.pending))
			}
		})
	})
}

// A refused result gets occasional attempts and does not hold up sweeps. A backlog
// of several pages is settled page after page, without a wait between pages.
func TestRefusedResultDoesNotDelayBacklog(t *testing.T) {
	runWithEnv(t, func(t *testing.T, env *testEnv) {
		for i := range 20 {
			env.endMatch(matchID(i))
		}
		env.ledgerFault = func(batch []match.Result) error {
			if slices.ContainsFunc(batch, func(result match.Result) bool { return result.Match == "m0" }) {
				return errRefused
			}
			return nil
		}
		time.Sleep(5 * time.Second)
		env.start(t, func(config *Config) { config.BatchSize = 4 })
		time.Sleep(time.Second)
		env.withLock(func() {
			if len(env.inLedger) != 19 {
				t.Errorf("%d of 19 are settled after a second", len(env.inLedger))
			}
		})
		time.Sleep(2 * time.Second)
		env.withLock(func() {
			if env.singleCommits["m0"] > 2 || len(env.deadLetters) != 0 {
				t.Errorf("%d tries after 3 s, %d dead letters", env.singleCommits["m0"], len(env.deadLetters))
			}
		})
	})
}

// Results without standings never reached the ledger. However many there are, they
// delay no other result of their game, and each becomes a dead letter.
func TestIncompleteResultsDoNotHoldGame(t *testing.T) {
	runWithEnv(t, func(t *testing.T, env *testEnv) {
		for i := range 4 * maxRefusedInRow {
			env.pending[matchID(i)] = match.Result{Match: matchID(i), Game: "demo", CountsForLeaderboards: true, Paged: true}
		}
		service := env.start(t, nil)
		time.Sleep(5 * time.Second)
		service.Offer(env.endMatch("good"))
		time.Sleep(time.Second)
		env.withLock(func() {
			if !env.inLedger["good"] {
				t.Error("a result with standings is held up")
			}
		})
		time.Sleep(time.Minute)
		env.withLock(func() {
			if len(env.deadLetters) != 4*maxRefusedInRow || len(env.pending) != 0 {
				t.Errorf("%d dead letters, %d pending", len(env.deadLetters), len(env.pending))
			}
		})
		env.stop()
		if n := env.failureCount(t, reasonHeld); n != 0 {
			t.Errorf("held %v results", n)
		}
	})
}
