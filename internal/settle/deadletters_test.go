package settle

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/match"
	"laststand/internal/taskqueue"
)

// newDeadLetter starts a service whose ledger refuses m0, and waits until m0 is a
// dead letter.
func newDeadLetter(t *testing.T, f *fixture) (s *Settler, stop func()) {
	t.Helper()
	f.refuse("m0")
	s, stop = f.start(t, nil)
	s.Offer(f.over("m0"))
	time.Sleep(time.Minute)
	f.with(func() {
		if f.graves["m0"] == nil || len(f.pending) != 0 {
			t.Fatalf("after a minute there are %d dead, %d pending", len(f.graves), len(f.pending))
		}
	})
	return s, stop
}

// repairLedger makes the ledger accept everything again.
func (f *fixture) repairLedger() {
	f.with(func() { f.ledger = func([]match.Result) error { return nil } })
}

func TestTenRefusalsMakeADeadLetter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		s, stop := newDeadLetter(t, f)
		letter := *f.graves["m0"]
		if f.tries["m0"] != maxRefusals || letter.Tries != maxRefusals || len(letter.Errors) != maxRefusals || letter.State != taskqueue.Dead {
			t.Errorf("after %d tries %+v", f.tries["m0"], letter)
		}
		var r match.Result
		if err := json.Unmarshal(letter.Payload, &r); err != nil || r.Match != "m0" || len(r.Standings) != 2 || letter.Game != r.Game {
			t.Errorf("%v: %s", err, letter.Payload)
		}
		for i, e := range letter.Errors {
			if e.Error != errRefused.Error() || i > 0 && e.At <= letter.Errors[i-1].At {
				t.Errorf("errors %+v", letter.Errors)
			}
		}
		f.wantLog(t, "bury m0", "settled m0")
		if n := f.metric(t, "laststand_settle_dead_letters_total", ""); n != 1 {
			t.Errorf("%v dead", n)
		}
		stop()
		if len(s.refused) != 0 {
			t.Errorf("%d still parked", len(s.refused))
		}
	})
}

// An outage is not the fault of a result, however long it lasts.
func TestAnOutageMakesNoDeadLetter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.ledger = func([]match.Result) error { return errDown }
		s, stop := f.start(t, nil)
		s.Offer(f.over("m0"))
		f.over("m1")
		time.Sleep(24 * time.Hour)
		f.repairLedger()
		time.Sleep(time.Minute)
		stop()
		f.wantAll(t, 2)
		if len(f.graves) != 0 {
			t.Errorf("dead: %v", f.graves)
		}
	})
}

// If the move of a result to the dead letters is interrupted anywhere, it is
// repeated, and has one effect.
func TestMoveToDeadLettersIsRepeated(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*fixture, func() error){
		"SQL":   func(f *fixture, fail func() error) { f.tasks = fail },
		"Redis": func(f *fixture, fail func() error) { f.settled = fail },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture()
				failures := 3
				spoil(f, func() error {
					if failures--; failures >= 0 {
						return errDown
					}
					return nil
				})
				_, stop := newDeadLetter(t, f)
				f.wantLog(t, "bury m0", "settled m0")
				if n := f.metric(t, "laststand_settle_dead_letters_total", ""); n != 1 {
					t.Errorf("%v dead", n)
				}
				stop()
			})
		})
	}
}

func TestRequeuedResultIsSettledAndNotified(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		s, stop := newDeadLetter(t, f)
		f.repairLedger()
		for range 2 { // a repeat changes nothing
			done, err := s.Requeue(t.Context(), "m0")
			if err != nil || done.State != taskqueue.Done || done.Tries != maxRefusals+1 {
				t.Errorf("%+v, %v", done, err)
			}
		}
		time.Sleep(time.Second)
		stop()
		f.wantAll(t, 1)
		f.wantLog(t, "bury m0", "settled m0", "commit m0", "apply demo", "tell m0")
	})
}

func TestRequeueThatFailsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		s, stop := newDeadLetter(t, f)
		f.with(func() { f.ledger = func([]match.Result) error { return errors.New("another reason") } })
		again, err := s.Requeue(t.Context(), "m0")
		if n := len(again.Errors); err != nil || again.State != taskqueue.Dead || again.Tries != maxRefusals+1 || again.Errors[n-1].Error != "another reason" {
			t.Errorf("%+v, %v", again, err)
		}
		f.with(func() { f.ledger = func([]match.Result) error { return errDown } })
		if _, err := s.Requeue(t.Context(), "m0"); !errors.Is(err, errDown) {
			t.Errorf("while the ledger is down: %v", err)
		}
		if letter := f.graves["m0"]; letter.Tries != maxRefusals+1 {
			t.Errorf("an outage counts as a try: %+v", letter)
		}
		if _, err := s.Requeue(t.Context(), "m1"); !errors.Is(err, taskqueue.ErrNotFound) {
			t.Errorf("a task that is not there: %v", err)
		}
		stop()
		if _, err := s.Requeue(t.Context(), "m0"); !errors.Is(err, ErrStopping) {
			t.Errorf("a stopped settler: %v", err)
		}
	})
}

// A requeue waits for the end of an outage no longer than its caller.
func TestRequeueDuringACommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		s, stop := newDeadLetter(t, f)
		f.with(func() { f.ledger = func([]match.Result) error { return errDown } })
		s.Offer(f.over("m1"))
		synctest.Wait() // it is being committed
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Requeue(ctx, "m0"); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		f.repairLedger()
		stop()
	})
}

func TestEditAndDiscard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		s, stop := newDeadLetter(t, f)
		for _, bad := range []string{`{`, `{"match":"m1","game":"demo"}`, `{"match":"m0","game":"other"}`, `{"match":"m0","game":"demo","paged":true}`} {
			if _, err := s.Edit(t.Context(), "m0", []byte(bad)); !errors.Is(err, ErrBadPayload) {
				t.Errorf("%s: %v", bad, err)
			}
		}
		mended := []byte(`{"match":"m0","game":"demo","counts":true,"winner":"mended"}`)
		if edited, err := s.Edit(t.Context(), "m0", mended); err != nil || !slices.Equal(edited.Payload, mended) || edited.State != taskqueue.Dead {
			t.Errorf("%+v, %v", edited, err)
		}
		if gone, err := s.Discard(t.Context(), "m0"); err != nil || gone.State != taskqueue.Discarded {
			t.Errorf("%+v, %v", gone, err)
		}
		f.with(func() {
			f.ledger = func(batch []match.Result) error {
				if batch[0].Winner != "mended" {
					return errRefused
				}
				return nil
			}
		})
		if done, err := s.Requeue(t.Context(), "m0"); err != nil || done.State != taskqueue.Done {
			t.Errorf("%+v, %v", done, err)
		}
		_, edited := s.Edit(t.Context(), "m0", mended)
		_, discarded := s.Discard(t.Context(), "m0")
		if !errors.Is(edited, taskqueue.ErrDone) || !errors.Is(discarded, taskqueue.ErrDone) {
			t.Errorf("once done: %v, %v", edited, discarded)
		}
		stop()
	})
}

// A result that another node has settled or made a dead letter is forgotten in
// time.
func TestRefusalSettledElsewhereIsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.refuse("m0")
		s, stop := f.start(t, nil)
		s.Offer(f.over("m0"))
		time.Sleep(time.Second)
		f.with(func() { delete(f.pending, "m0") })
		time.Sleep(5 * time.Minute)
		stop()
		if f.tries["m0"] == 0 || len(s.refused) != 0 {
			t.Errorf("%d tries, %d parked", f.tries["m0"], len(s.refused))
		}
	})
}

// A result with unreadable standings gets some counted attempts and then is a dead
// letter. It is not stuck, and its players are free.
func TestAnUnreadableResultBecomesADeadLetter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		_, stop := f.start(t, nil)
		f.with(func() {
			f.pending["m0"] = match.Result{Match: "m0", Game: "demo", Counts: true, Paged: true}
		})
		f.over("m1")
		time.Sleep(time.Minute)
		f.with(func() {
			if letter := f.graves["m0"]; letter == nil || letter.Tries != maxRefusals || f.tries["m0"] != 0 || len(f.pending) != 0 {
				t.Errorf("%+v, pending %v, given to the ledger %d times", letter, f.pending, f.tries["m0"])
			}
			if !f.taken["m1"] {
				t.Error("the other result is not settled")
			}
		})
		if n := f.failures(t, reasonRefused); n != maxRefusals {
			t.Errorf("counted %v times", n)
		}
		stop()
	})
}

// A dead letter without standings is settled when they can be read again.
// Until then, a requeue adds a reason. While the store is unreachable, a requeue
// does not count as an attempt.
func TestARequeuedResultIsCompleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, errAway := newFixture(), errors.New("redis is away")
		s, stop := f.start(t, nil)
		f.with(func() {
			f.pending["m0"] = match.Result{Match: "m0", Game: "demo", Counts: true, Paged: true}
			f.standings = func() error { return errAway }
		})
		time.Sleep(time.Minute)
		if _, err := s.Requeue(t.Context(), "m0"); !errors.Is(err, errAway) || f.graves["m0"].Tries != maxRefusals {
			t.Errorf("while the store is away: %v, %+v", err, f.graves["m0"])
		}
		f.with(func() { f.standings = func() error { return match.ErrNotFound } })
		again, err := s.Requeue(t.Context(), "m0")
		if err != nil || again.State != taskqueue.Dead || again.Tries != maxRefusals+1 || len(f.taken) != 0 {
			t.Errorf("while the standings are gone: %v, %+v", err, again)
		}
		f.with(func() { f.standings = func() error { return nil } })
		done, err := s.Requeue(t.Context(), "m0")
		var r match.Result
		if err != nil || done.State != taskqueue.Done || json.Unmarshal(done.Payload, &r) != nil || len(r.Standings) != 60 {
			t.Errorf("%v, %+v", err, done)
		}
		time.Sleep(time.Second)
		stop()
		f.wantAll(t, 1)
	})
}
