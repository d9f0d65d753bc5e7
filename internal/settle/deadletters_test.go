package settle

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/match"
	"laststand/internal/taskqueue"
)

// startWithDeadLetter starts a service whose ledger refuses m0, and waits until m0 is a
// dead letter.
func startWithDeadLetter(t *testing.T, env *testEnv) *Service {
	t.Helper()
	env.refuse("m0")
	service := env.start(t, nil)
	service.Offer(env.endMatch("m0"))
	time.Sleep(time.Minute)
	env.withLock(func() {
		if env.deadLetters["m0"] == nil || len(env.pending) != 0 {
			t.Fatalf("after a minute: %d dead letters, %d pending results", len(env.deadLetters), len(env.pending))
		}
	})
	return service
}

// repairLedger makes the ledger accept everything again.
func (env *testEnv) repairLedger() {
	env.withLock(func() { env.ledgerFault = func([]match.Result) error { return nil } })
}

func TestTenthRefusalMakesDeadLetter(t *testing.T) {
	runWithEnv(t, func(t *testing.T, env *testEnv) {
		service := startWithDeadLetter(t, env)
		letter := *env.deadLetters["m0"]
		if env.singleCommits["m0"] != maxRefusals || letter.Tries != maxRefusals || len(letter.Errors) != maxRefusals || letter.State != taskqueue.StateDead {
			t.Errorf("after %d tries %+v", env.singleCommits["m0"], letter)
		}
		var result match.Result
		if err := json.Unmarshal(letter.Payload, &result); err != nil || result.Match != "m0" || len(result.Standings) != 2 || letter.Game != result.Game {
			t.Errorf("%v: %s", err, letter.Payload)
		}
		for i, refusal := range letter.Errors {
			if refusal.Error != errRefused.Error() || i > 0 && refusal.At <= letter.Errors[i-1].At {
				t.Errorf("errors %+v", letter.Errors)
			}
		}
		env.checkActions(t, "dead letter m0", "settled m0")
		if n := env.metricValue(t, "laststand_settle_dead_letters_total", ""); n != 1 {
			t.Errorf("%v dead letters counted", n)
		}
		env.stop()
		if len(service.refusedResults) != 0 {
			t.Errorf("%d refused results are still waiting", len(service.refusedResults))
		}
	})
}

// An outage is not the fault of a result, however long it lasts.
func TestOutageMakesNoDeadLetter(t *testing.T) {
	runWithEnv(t, func(t *testing.T, env *testEnv) {
		env.ledgerFault = func([]match.Result) error { return errDown }
		service := env.start(t, nil)
		service.Offer(env.endMatch("m0"))
		env.endMatch("m1")
		time.Sleep(24 * time.Hour)
		env.repairLedger()
		time.Sleep(time.Minute)
		env.stop()
		env.checkAllSettled(t, 2)
		if len(env.deadLetters) != 0 {
			t.Errorf("dead letters: %v", env.deadLetters)
		}
	})
}

// If the move of a result to the dead letters is interrupted anywhere, it is
// repeated, and has one effect.
func TestInterruptedMoveToDeadLettersIsRepeated(t *testing.T) {
	t.Parallel()
	for name, injectFault := range map[string]func(*testEnv, func() error){
		"SQL":   func(env *testEnv, fail func() error) { env.deadLetterFault = fail },
		"Redis": func(env *testEnv, fail func() error) { env.markSettledFault = fail },
	} {
		t.Run(name, func(t *testing.T) {
			runWithEnv(t, func(t *testing.T, env *testEnv) {
				failures := 3
				injectFault(env, func() error {
					if failures--; failures >= 0 {
						return errDown
					}
					return nil
				})
				startWithDeadLetter(t, env)
				env.checkActions(t, "dead letter m0", "settled m0")
				if n := env.metricValue(t, "laststand_settle_dead_letters_total", ""); n != 1 {
					t.Errorf("%v dead letters counted", n)
				}
			})
		})
	}
}

func TestRequeuedResultIsSettledAndNotified(t *testing.T) {
	runWithEnv(t, func(t *testing.T, env *testEnv) {
		service := startWithDeadLetter(t, env)
		env.repairLedger()
		for range 2 { // a repeat changes nothing
			requeued, err := service.Requeue(t.Context(), "m0")
			if err != nil || requeued.State != taskqueue.StateDone || requeued.Tries != maxRefusals+1 {
				t.Errorf("%+v, %v", requeued, err)
			}
		}
		time.Sleep(time.Second)
		env.stop()
		env.checkAllSettled(t, 1)
		env.checkActions(t, "dead letter m0", "settled m0", "commit m0", "apply demo", "notify m0")
	})
}

func TestFailedRequeueAddsReason(t *testing.T) {
	runWithEnv(t, func(t *testing.T, env *testEnv) {
		service := startWithDeadLetter(t, env)
		env.withLock(func() { env.ledgerFault = func([]match.Result) error { return errors.New("another reason") } })
		requeued, err := service.Requeue(t.Context(), "m0")
		if n := len(requeued.Errors); err != nil || requeued.State != taskqueue.StateDead || requeued.Tries != maxRefusals+1 || requeued.Errors[n-1].Error != "another reason" {
			t.Errorf("%+v, %v", requeued, err)
		}
		env.withLock(func() { env.ledgerFault = func([]match.Result) error { return errDown } })
		if _, err := service.Requeue(t.Context(), "m0"); !errors.Is(err, errDown) {
			t.Errorf("while the ledger is down: %v", err)
		}
		if letter := env.deadLetters["m0"]; letter.Tries != maxRefusals+1 {
			t.Errorf("an outage counts as a try: %+v", letter)
		}
		if _, err := service.Requeue(t.Context(), "m1"); !errors.Is(err, taskqueue.ErrNotFound) {
			t.Errorf("an unknown task: %v", err)
		}
		env.stop()
		if _, err := service.Requeue(t.Context(), "m0"); !errors.Is(err, ErrStopping) {
			t.Errorf("a stopped service: %v", err)
		}
	})
}

// A requeue waits for the end of an outage no longer than its caller.
func TestRequeueEndsWithItsCaller(t *testing.T) {
	runWithEnv(t, func(t *testing.T, env *testEnv) {
		service := startWithDeadLetter(t, env)
		env.withLock(func() { env.ledgerFault = func([]match.Result) error { return errDown } })
		service.Offer(env.endMatch("m1"))
		synctest.Wait() // it is being committed
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := service.Requeue(ctx, "m0"); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		env.repairLedger()
	})
}

func TestDeadLetterCanBeEditedAndDiscarded(t *testing.T) {
	runWithEnv(t, func(t *testing.T, env *testEnv) {
		service := startWithDeadLetter(t, env)
		letter := *env.deadLetters["m0"]
		admin := taskqueue.NewAdmin(env, map[string]taskqueue.TopicActions{letter.Topic: service})
		for _, payload := range []string{`{`, `{"match":"m1","game":"demo"}`, `{"match":"m0","game":"other"}`, `{"match":"m0","game":"demo","paged":true}`} {
			if _, err := admin.Edit(t.Context(), "m0", []byte(payload)); !errors.Is(err, ErrBadPayload) {
				t.Errorf("%s: %v", payload, err)
			}
		}
		edit := []byte(`{"match":"m0","game":"demo","counts":true,"winner":"mended"}`)
		if editErr, err := admin.Edit(t.Context(), "m0", edit); err != nil || !slices.Equal(editErr.Payload, edit) || editErr.State != taskqueue.StateDead {
			t.Errorf("%+v, %v", editErr, err)
		}
		if discardedTask, err := admin.Discard(t.Context(), "m0"); err != nil || discardedTask.State != taskqueue.StateDiscarded {
			t.Errorf("%+v, %v", discardedTask, err)
		}
		env.withLock(func() {
			env.ledgerFault = func(batch []match.Result) error {
				if batch[0].Winner != "mended" {
					return errRefused
				}
				return nil
			}
		})
		if requeued, err := admin.Requeue(t.Context(), "m0"); err != nil || requeued.State != taskqueue.StateDone {
			t.Errorf("%+v, %v", requeued, err)
		}
		_, editErr := admin.Edit(t.Context(), "m0", edit)
		_, discardErr := admin.Discard(t.Context(), "m0")
		if !errors.Is(editErr, taskqueue.ErrDone) || !errors.Is(discardErr, taskqueue.ErrDone) {
			t.Errorf("after the task is done: %v, %v", editErr, discardErr)
		}
	})
}

// A result that another node has settled or made a dead letter is forgotten in
// time.
func TestRefusalSettledElsewhereIsForgotten(t *testing.T) {
	runWithEnv(t, func(t *testing.T, env *testEnv) {
		env.refuse("m0")
		service := env.start(t, nil)
		service.Offer(env.endMatch("m0"))
		time.Sleep(time.Second)
		env.withLock(func() { delete(env.pending, "m0") })
		time.Sleep(5 * time.Minute)
		env.stop()
		if env.singleCommits["m0"] == 0 || len(service.refusedResults) != 0 {
			t.Errorf("%d tries, %d refused results are still waiting", env.singleCommits["m0"], len(service.refusedResults))
		}
	})
}

// A result with unreadable standings gets some counted attempts and then is a dead
// letter. It is not stuck, and its players are free.
func TestUnreadableResultBecomesDeadLetter(t *testing.T) {
	runWithEnv(t, func(t *testing.T, env *testEnv) {
		env.start(t, nil)
		env.withLock(func() {
			env.pending["m0"] = match.Result{Match: "m0", Game: "demo", CountsForLeaderboards: true, Paged: true}
		})
		env.endMatch("m1")
		time.Sleep(time.Minute)
		env.withLock(func() {
			if letter := env.deadLetters["m0"]; letter == nil || letter.Tries != maxRefusals || env.singleCommits["m0"] != 0 || len(env.pending) != 0 {
				t.Errorf("%+v, pending %v, given to the ledger %d times", letter, env.pending, env.singleCommits["m0"])
			}
			if !env.inLedger["m1"] {
				t.Error("the other result is not settled")
			}
		})
		if n := env.failureCount(t, reasonRefused); n != maxRefusals {
			t.Errorf("counted %v times", n)
		}
	})
}

// A result whose text cannot be decoded becomes a dead letter with that text. Other results
// are settled, and a game is not on hold.
func TestUndecodableResultBecomesDeadLetter(t *testing.T) {
	runWithEnv(t, func(t *testing.T, env *testEnv) {
		service := env.start(t, nil)
		env.withLock(func() { env.pending["m0"] = match.Result{Match: "m0", Undecodable: "{broken"} }) // its match has expired, so its game is unknown
		env.endMatch("m1")
		time.Sleep(time.Minute)
		env.withLock(func() {
			letter := env.deadLetters["m0"]
			if letter == nil || !strings.Contains(string(letter.Payload), `"undecodable":"{broken"`) || len(env.pending) != 0 || !env.inLedger["m1"] {
				t.Fatalf("%+v, pending %v", letter, env.pending)
			}
		})
		if n := env.failureCount(t, reasonUndecodable); n != maxRefusals {
			t.Errorf("counted %v times", n)
		}
		if letter, err := service.Requeue(t.Context(), "m0"); err != nil || letter.State != taskqueue.StateDead || env.inLedger["m0"] {
			t.Errorf("requeued: %+v, %v", letter, err)
		}
		admin := taskqueue.NewAdmin(env, map[string]taskqueue.TopicActions{taskqueue.SettleTopic: service})
		if _, err := admin.Edit(t.Context(), "m0", []byte(`{"match":"m0"}`)); !errors.Is(err, ErrBadPayload) {
			t.Errorf("repaired without a game: %v", err)
		}
		if _, err := admin.Edit(t.Context(), "m0", []byte(`{"match":"m0","game":"demo"}`)); err != nil {
			t.Error(err)
		}
		if letter, err := admin.Requeue(t.Context(), "m0"); err != nil || letter.State != taskqueue.StateDone || !env.inLedger["m0"] {
			t.Errorf("requeued after the repair: %+v, %v", letter, err)
		}
	})
}

// A dead letter without standings is settled when they can be read again.
// Until then, a requeue adds a reason. While the store is unreachable, a requeue
// does not count as an attempt.
func TestRequeueReadsMissingStandings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		env, errUnreachable := newTestEnv(), errors.New("redis is unreachable")
		service := env.start(t, nil)
		env.withLock(func() {
			env.pending["m0"] = match.Result{Match: "m0", Game: "demo", CountsForLeaderboards: true, Paged: true}
			env.standingsFault = func() error { return errUnreachable }
		})
		time.Sleep(time.Minute)
		if _, err := service.Requeue(t.Context(), "m0"); !errors.Is(err, errUnreachable) || env.deadLetters["m0"].Tries != maxRefusals {
			t.Errorf("while the store is unreachable: %v, %+v", err, env.deadLetters["m0"])
		}
		env.withLock(func() { env.standingsFault = func() error { return match.ErrNotFound } })
		failed, err := service.Requeue(t.Context(), "m0")
		if err != nil || failed.State != taskqueue.StateDead || failed.Tries != maxRefusals+1 || len(env.inLedger) != 0 {
			t.Errorf("while the standings cannot be read: %v, %+v", err, failed)
		}
		env.withLock(func() { env.standingsFault = func() error { return nil } })
		requeued, err := service.Requeue(t.Context(), "m0")
		var result match.Result
		if err != nil || requeued.State != taskqueue.StateDone || json.Unmarshal(requeued.Payload, &result) != nil || len(result.Standings) != 60 {
			t.Errorf("%v, %+v", err, requeued)
		}
		time.Sleep(time.Second)
		env.stop()
		env.checkAllSettled(t, 1)
	})
}
