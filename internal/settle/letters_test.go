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

// dead starts a settler in whose world m0 has been refused to its death.
func dead(t *testing.T, w *world) (s *Settler, stop func()) {
	t.Helper()
	w.refuse("m0")
	s, stop = w.start(t, nil)
	s.Offer(w.over("m0"))
	time.Sleep(time.Minute)
	w.with(func() {
		if w.graves["m0"] == nil || len(w.pending) != 0 {
			t.Fatalf("after a minute there are %d dead, %d pending", len(w.graves), len(w.pending))
		}
	})
	return s, stop
}

// mend makes the ledger take everything again.
func (w *world) mend() {
	w.with(func() { w.ledger = func([]match.Result) error { return nil } })
}

func TestTenRefusalsMakeADeadLetter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s, stop := dead(t, w)
		grave := *w.graves["m0"]
		if w.tries["m0"] != maxTries || grave.Tries != maxTries || len(grave.Errors) != maxTries || grave.State != taskqueue.Dead {
			t.Errorf("after %d tries %+v", w.tries["m0"], grave)
		}
		var r match.Result
		if err := json.Unmarshal(grave.Payload, &r); err != nil || r.Match != "m0" || len(r.Standings) != 2 || grave.Game != r.Game {
			t.Errorf("%v: %s", err, grave.Payload)
		}
		for i, e := range grave.Errors {
			if e.Error != errRefused.Error() || i > 0 && e.At <= grave.Errors[i-1].At {
				t.Errorf("errors %+v", grave.Errors)
			}
		}
		w.wantLog(t, "bury m0", "settled m0")
		if n := w.metric(t, "laststand_settle_dead_letters_total", ""); n != 1 {
			t.Errorf("%v dead", n)
		}
		stop()
		if len(s.parked) != 0 {
			t.Errorf("%d still parked", len(s.parked))
		}
	})
}

// An outage, however long, is no result's fault.
func TestAnOutageKillsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.ledger = func([]match.Result) error { return errDown }
		s, stop := w.start(t, nil)
		s.Offer(w.over("m0"))
		w.over("m1")
		time.Sleep(24 * time.Hour)
		w.mend()
		time.Sleep(time.Minute)
		stop()
		w.wantAll(t, 2)
		if len(w.graves) != 0 {
			t.Errorf("dead: %v", w.graves)
		}
	})
}

// Whatever is cut short on the way to the grave is done again, and once.
func TestBurialIsRepeated(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*world, func() error){
		"SQL":   func(w *world, f func() error) { w.tasks = f },
		"Redis": func(w *world, f func() error) { w.settled = f },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				failures := 3
				spoil(w, func() error {
					if failures--; failures >= 0 {
						return errDown
					}
					return nil
				})
				_, stop := dead(t, w)
				w.wantLog(t, "bury m0", "settled m0")
				if n := w.metric(t, "laststand_settle_dead_letters_total", ""); n != 1 {
					t.Errorf("%v dead", n)
				}
				stop()
			})
		})
	}
}

func TestRequeuedResultIsSettledAndTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s, stop := dead(t, w)
		w.mend()
		for range 2 { // a repeat changes nothing
			done, err := s.Requeue(t.Context(), "m0")
			if err != nil || done.State != taskqueue.Done || done.Tries != maxTries+1 {
				t.Errorf("%+v, %v", done, err)
			}
		}
		time.Sleep(time.Second)
		stop()
		w.wantAll(t, 1)
		w.wantLog(t, "bury m0", "settled m0", "commit m0", "apply demo", "tell m0")
	})
}

func TestRequeuedInVain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s, stop := dead(t, w)
		w.with(func() { w.ledger = func([]match.Result) error { return errors.New("another reason") } })
		again, err := s.Requeue(t.Context(), "m0")
		if n := len(again.Errors); err != nil || again.State != taskqueue.Dead || again.Tries != maxTries+1 || again.Errors[n-1].Error != "another reason" {
			t.Errorf("%+v, %v", again, err)
		}
		w.with(func() { w.ledger = func([]match.Result) error { return errDown } })
		if _, err := s.Requeue(t.Context(), "m0"); !errors.Is(err, errDown) {
			t.Errorf("while the ledger is down: %v", err)
		}
		if grave := w.graves["m0"]; grave.Tries != maxTries+1 {
			t.Errorf("an outage counts as a try: %+v", grave)
		}
		if _, err := s.Requeue(t.Context(), "m1"); !errors.Is(err, taskqueue.ErrNotFound) {
			t.Errorf("a task that is not there: %v", err)
		}
		stop()
		if _, err := s.Requeue(t.Context(), "m0"); !errors.Is(err, ErrStopped) {
			t.Errorf("a stopped settler: %v", err)
		}
	})
}

// A requeue does not wait for an outage's end longer than its caller does.
func TestRequeueDuringACommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s, stop := dead(t, w)
		w.with(func() { w.ledger = func([]match.Result) error { return errDown } })
		s.Offer(w.over("m1"))
		synctest.Wait() // it is being committed
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Requeue(ctx, "m0"); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		w.mend()
		stop()
	})
}

func TestEditAndDiscard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s, stop := dead(t, w)
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
		w.with(func() {
			w.ledger = func(batch []match.Result) error {
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

// What another node has settled or buried is not kept in mind for ever.
func TestParkedElsewhereIsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.refuse("m0")
		s, stop := w.start(t, nil)
		s.Offer(w.over("m0"))
		time.Sleep(time.Second)
		w.with(func() { delete(w.pending, "m0") })
		time.Sleep(5 * time.Minute)
		stop()
		if w.tries["m0"] == 0 || len(s.parked) != 0 {
			t.Errorf("%d tries, %d parked", w.tries["m0"], len(s.parked))
		}
	})
}

// A result whose standings cannot be read waits some tries, counted, and is a
// dead letter then: it is not stuck, and its players are free.
func TestAnUnreadableResultBecomesADeadLetter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		_, stop := w.start(t, nil)
		w.with(func() {
			w.pending["m0"] = match.Result{Match: "m0", Game: "demo", Counts: true, Paged: true}
		})
		w.over("m1")
		time.Sleep(time.Minute)
		w.with(func() {
			if grave := w.graves["m0"]; grave == nil || grave.Tries != maxTries || w.tries["m0"] != 0 || len(w.pending) != 0 {
				t.Errorf("%+v, pending %v, given to the ledger %d times", grave, w.pending, w.tries["m0"])
			}
			if !w.taken["m1"] {
				t.Error("the other result is not settled")
			}
		})
		if n := w.failures(t, reasonRefused); n != maxTries {
			t.Errorf("counted %v times", n)
		}
		stop()
	})
}

// A result that died without its standings is settled once they can be read again;
// until then a requeue is one more reason, and no try while the store is away.
func TestARequeuedResultIsCompleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, errAway := newWorld(), errors.New("redis is away")
		s, stop := w.start(t, nil)
		w.with(func() {
			w.pending["m0"] = match.Result{Match: "m0", Game: "demo", Counts: true, Paged: true}
			w.standings = func() error { return errAway }
		})
		time.Sleep(time.Minute)
		if _, err := s.Requeue(t.Context(), "m0"); !errors.Is(err, errAway) || w.graves["m0"].Tries != maxTries {
			t.Errorf("while the store is away: %v, %+v", err, w.graves["m0"])
		}
		w.with(func() { w.standings = func() error { return match.ErrNotFound } })
		again, err := s.Requeue(t.Context(), "m0")
		if err != nil || again.State != taskqueue.Dead || again.Tries != maxTries+1 || len(w.taken) != 0 {
			t.Errorf("while the standings are gone: %v, %+v", err, again)
		}
		w.with(func() { w.standings = func() error { return nil } })
		done, err := s.Requeue(t.Context(), "m0")
		var r match.Result
		if err != nil || done.State != taskqueue.Done || json.Unmarshal(done.Payload, &r) != nil || len(r.Standings) != 60 {
			t.Errorf("%v, %+v", err, done)
		}
		time.Sleep(time.Second)
		stop()
		w.wantAll(t, 1)
	})
}
