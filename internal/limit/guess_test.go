package limit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/protocol"
)

// wrongly and rightly are how a try ends; each takes a while, so that all are at
// it at once.
func wrongly() error {
	time.Sleep(3 * time.Millisecond)
	return protocol.Errorf(protocol.CodeNotFound, "there is no such arena")
}

func rightly() error {
	time.Sleep(3 * time.Millisecond)
	return nil
}

// codesOf make guesses of so many an hour, and of one an hour of each player
// beyond that, of whom there may be two.
func codesOf(l *Limiter, most int) *Guesses {
	rule := func(name string, most int) *Rule {
		return l.Rule(Terms{Name: name, What: name, Most: most, Per: time.Hour, Wide: true})
	}
	return &Guesses{
		Wrong: rule("wrong codes", most), Late: rule("late", 2), LateEach: rule("late of one", 1),
		Vain: l.Rule(Terms{Name: "vain", Most: 20 * most, Per: time.Hour}),
	}
}

// tried counts how n tries at once end.
func tried(ctx context.Context, g *Guesses, n int, of func(i int) Guess, try func() error) (done, refused int64) {
	var did, not atomic.Int64
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			err := g.Try(ctx, of(i), try)
			if e, ok := errors.AsType[*protocol.Error](err); ok && e.Code == protocol.CodeRateLimited {
				not.Add(1)
				return
			}
			did.Add(1)
		})
	}
	all.Wait()
	return did.Load(), not.Load()
}

func guesses(prefix string) func(int) Guess {
	return func(i int) Guess { return Guess{From: ada, Secret: fmt.Sprint(prefix, i)} }
}

// However many guess at once, as many are tried as there are tokens, and then as
// many as come back.
func TestGuessesAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := codesOf(New(Config{}), 10)
		for round, want := range []int64{10, 0, 1, 10} {
			time.Sleep([]time.Duration{0, time.Minute, 5 * time.Minute, time.Hour}[round])
			if done, refused := tried(t.Context(), g, 200, guesses("x"), wrongly); done != want || refused != 200-want {
				t.Errorf("round %d: %d were tried and %d refused, want %d tried", round, done, refused, want)
			}
		}
	})
}

// A school comes in by one address at once, with more than there are tokens,
// while one of them has the code wrong over and over; the others have it right,
// and come in also when no token is left, from then on.
func TestSchool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := codesOf(New(Config{}), 10)
		school := Guess{From: ada, Secret: "demo/402951"}
		var lessons sync.WaitGroup
		lessons.Go(func() { tried(t.Context(), g, 8, guesses("mischief"), wrongly) })
		lessons.Go(func() {
			began := time.Now()
			done, refused := tried(t.Context(), g, 500, func(int) Guess { return school }, rightly)
			if took := time.Since(began); done != 500 || refused != 0 || took > time.Second {
				t.Errorf("%d came in and %d did not, in %v", done, refused, took)
			}
		})
		lessons.Wait()
		if done, _ := tried(t.Context(), g, 100, guesses("more"), wrongly); done != 2 {
			t.Errorf("%d more were tried, want 2", done)
		}
		if done, _ := tried(t.Context(), g, 500, func(int) Guess { return school }, rightly); done != 500 {
			t.Errorf("%d came in after the mischief", done)
		}
		elsewhere := Guess{From: bob, Secret: school.Secret}
		tried(t.Context(), g, 10, func(i int) Guess { return Guess{From: bob, Secret: fmt.Sprint(i)} }, wrongly)
		if err := g.Try(t.Context(), elsewhere, rightly); refusedFor(t, err) == 0 {
			t.Error("it is vouched for where nobody has shown it")
		}
	})
}

// What is given back is no more than was held: rights and wrongs in turn have
// wrongs end where they would without the rights.
func TestGiveBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, wrong := codesOf(New(Config{}), 3), 0
		for i := range 40 {
			if g.Try(t.Context(), Guess{From: ada, Secret: fmt.Sprint("right", i)}, func() error { return nil }) != nil {
				break
			}
			if i%2 == 1 && g.Try(t.Context(), guesses("x")(i), wrongly) != nil {
				wrong++
			}
		}
		if wrong != 3 {
			t.Errorf("%d wrong ones were tried, want 3", wrong)
		}
	})
}

// What ends neither well nor as wrong costs nothing and vouches for nothing; a
// panic is a wrong one.
func TestNoGuess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := codesOf(New(Config{}), 1)
		one := Guess{From: ada, Secret: "s"}
		for _, err := range []error{errors.New("out of reach"), protocol.Errorf(protocol.CodeArenaFull, "full"), context.Canceled} {
			if got := g.Try(t.Context(), one, func() error { return err }); !errors.Is(got, err) {
				t.Errorf("%v, want %v", got, err)
			}
		}
		func() {
			defer func() { _ = recover() }()
			_ = g.Try(t.Context(), one, func() error { panic("a fault") })
		}()
		if wait := refusedFor(t, g.Try(t.Context(), one, rightly)); wait != time.Hour {
			t.Errorf("wait %v", wait)
		}
		if (*Guesses)(nil).Try(t.Context(), one, rightly) != nil || (&Guesses{}).Try(t.Context(), one, rightly) != nil {
			t.Error("without a rule it is refused")
		}
	})
}

// Where the address has no tries left those with a name have one each, few in
// all, and the first who is right lets all others in. Those who wait for a try
// that does not end are told to come again.
func TestLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := codesOf(New(Config{}), 4)
		as := func(name, secret string) Guess { return Guess{From: ada, By: Named("demo", name), Secret: secret} }
		tried(t.Context(), g, 9, guesses("x"), wrongly)
		if wait := refusedFor(t, g.Try(t.Context(), Guess{From: ada, Secret: "right"}, rightly)); wait <= 14*time.Minute || wait > 15*time.Minute {
			t.Errorf("nobody: wait %v", wait)
		}
		if done, _ := tried(t.Context(), g, 50, func(i int) Guess { return as("eve", fmt.Sprint(i)) }, wrongly); done != 1 {
			t.Errorf("one player had %d tries", done)
		}
		if err := g.Try(t.Context(), as("p1", "right"), rightly); err != nil {
			t.Error(err)
		}
		if done, _ := tried(t.Context(), g, 50, func(int) Guess { return Guess{From: ada, Secret: "right"} }, rightly); done != 50 {
			t.Errorf("%d came in after the first", done)
		}
		if done, _ := tried(t.Context(), g, 50, func(i int) Guess { return as(fmt.Sprint("q", i), fmt.Sprint(i)) }, wrongly); done != 1 {
			t.Errorf("many players had %d tries more, want 1", done)
		}
		time.Sleep(15 * time.Minute)
		stuck := make(chan struct{})
		go g.Try(t.Context(), guesses("stuck")(0), func() error { <-stuck; return nil })
		synctest.Wait()
		if wait := refusedFor(t, g.Try(t.Context(), guesses("other")(0), rightly)); wait != time.Second {
			t.Errorf("beside one that does not end: wait %v", wait)
		}
		close(stuck)
	})
}

// Which secrets are vouched for is not to be found out by trying: when there was
// too much of it only those are let through who have a name, and have not tried
// in vain themselves.
func TestScan(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := codesOf(New(Config{}), 10)
		right := func(i int) Guess { return Guess{From: ada, By: Named("demo", fmt.Sprint("p", i)), Secret: "right"} }
		nobody := func(int) Guess { return Guess{From: ada, Secret: "right"} }
		if err := g.Try(t.Context(), nobody(0), rightly); err != nil {
			t.Fatal(err)
		}
		tried(t.Context(), g, 10+199, guesses("x"), wrongly)
		if done, _ := tried(t.Context(), g, 50, nobody, rightly); done != 50 {
			t.Errorf("before there is too much of it %d come in", done)
		}
		tried(t.Context(), g, 5000, guesses("y"), wrongly)
		if done, _ := tried(t.Context(), g, 50, nobody, rightly); done != 0 {
			t.Errorf("%d of nobody are told that it is right", done)
		}
		if done, _ := tried(t.Context(), g, 500, right, rightly); done != 500 {
			t.Errorf("%d of 500 players come in", done)
		}
		scanner := func(i int) Guess { return Guess{From: ada, By: Named("demo", "eve"), Secret: fmt.Sprint(i)} }
		tried(t.Context(), g, 3, scanner, wrongly)
		if err := g.Try(t.Context(), Guess{From: ada, By: Named("demo", "eve"), Secret: "right"}, rightly); refusedFor(t, err) == 0 {
			t.Error("who has tried in vain is told that it is right")
		}
	})
}

// On trial all are tried, and those counted that would not be.
func TestGuessesOnTrial(t *testing.T) {
	t.Parallel()
	g := codesOf(New(Config{Trial: func(string) bool { return true }}), 2)
	for range 5 {
		if e, ok := errors.AsType[*protocol.Error](g.Try(t.Context(), guesses("x")(0), wrongly)); !ok || e.Code != protocol.CodeNotFound {
			t.Errorf("%v", e)
		}
	}
	if got := counts(g.Wrong); got != [5]float64{0, 0, 3} {
		t.Errorf("counted %v", got)
	}
}

// While what the nodes share is out of reach, and where it goes away during a
// try, each decides alone.
func TestGuessesAlone(t *testing.T) {
	t.Parallel()
	s := &store{}
	g := codesOf(New(Config{Shared: s}), 3)
	away := func() error {
		s.fail(errors.New("out of reach"))
		return wrongly()
	}
	done, refused := 0, 0
	for _, try := range []func() error{away, rightly, wrongly, wrongly, wrongly, rightly} {
		if e, ok := errors.AsType[*protocol.Error](g.Try(t.Context(), guesses("x")(done+refused), try)); ok && e.Code == protocol.CodeRateLimited {
			refused++
			continue
		}
		done++
	}
	if done != 4 || refused != 2 {
		t.Errorf("%d were tried, %d refused", done, refused)
	}
	if got := counts(g.Wrong)[3]; got != 6 {
		t.Errorf("%v counted as decided alone", got)
	}
}

// What the other nodes could not be told they are told a second later, by the
// next who has it.
func TestVouchedInVain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		s.fail(errors.New("out of reach"))
		g := codesOf(New(Config{Shared: s}), 9)
		try := func() {
			if err := g.Try(t.Context(), Guess{From: ada, Secret: "right"}, rightly); err != nil {
				t.Error(err)
			}
		}
		try()
		s.fail(nil)
		if try(); len(s.vouched) != 1 {
			t.Errorf("told %d times at once", len(s.vouched))
		}
		time.Sleep(time.Second)
		for range 3 {
			try()
		}
		if len(s.vouched) != 2 {
			t.Errorf("told %d times", len(s.vouched))
		}
	})
}

// What a secret is vouched for at other nodes is asked once a second at most, and
// only of who is refused.
func TestVouchedElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		g := codesOf(New(Config{Shared: s}), 2)
		right := Guess{From: ada, Secret: "right"}
		if err := g.Try(t.Context(), Guess{From: ada, Secret: "mine"}, rightly); err != nil || s.heard != 0 || len(s.vouched) != 1 {
			t.Errorf("%v, asked %d times, vouched for %v", err, s.heard, s.vouched)
		}
		s.wait = 10 * time.Minute
		for range 20 {
			if g.Try(t.Context(), right, rightly) == nil {
				t.Error("it is tried")
			}
		}
		s.vouched = append(s.vouched, right.Secret)
		time.Sleep(time.Second)
		for range 20 {
			if err := g.Try(t.Context(), right, rightly); err != nil {
				t.Error(err)
			}
		}
		if s.heard != 2 {
			t.Errorf("asked %d times", s.heard)
		}
	})
}

// A key is vouched for the newest secrets only.
func TestMostVouched(t *testing.T) {
	t.Parallel()
	b := newBucket(1, 1, time.Hour)
	for i := range MostVouched + 5 {
		b.vouch(time.Now(), fmt.Sprint(i))
	}
	if len(b.guessed.right) != MostVouched || b.vouches("4") || !b.vouches("5") || b.vouch(time.Now(), "5") {
		t.Errorf("%d are vouched for", len(b.guessed.right))
	}
}
