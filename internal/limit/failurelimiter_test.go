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

// wrongCode and rightCode are results of attempts. They take a while, so that attempts
// overlap.
func wrongCode() error {
	time.Sleep(3 * time.Millisecond)
	return protocol.Errorf(protocol.CodeNotFound, "there is no such arena")
}

func rightCode() error {
	time.Sleep(3 * time.Millisecond)
	return nil
}

// newCodeLimiter returns a limiter of limit wrong attempts an hour. Above that it allows
// two attempts an hour with a known player, and one of each player.
func newCodeLimiter(l *Limiter, limit int) *FailureLimiter {
	rule := func(name string, limit int) *Rule {
		return l.Rule(RuleConfig{Name: name, Subject: name, Limit: limit, Per: time.Hour, ClusterWide: true})
	}
	return &FailureLimiter{
		PerAddress: rule("wrong codes", limit), ByPlayers: rule("late", 2), PerPlayer: rule("late of one", 1),
		Refused: l.Rule(RuleConfig{Name: "refused", Limit: 20 * limit, Per: time.Hour}),
	}
}

// tryConcurrently makes n attempts at the same time and counts the allowed and refused
// ones.
func tryAll(ctx context.Context, l *FailureLimiter, n int, attempt func(i int) Attempt, try func() error) (done, refused int64) {
	var doneCount, refusedCount atomic.Int64
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			err := l.Try(ctx, attempt(i), try)
			if e, ok := errors.AsType[*protocol.Error](err); ok && e.Code == protocol.CodeRateLimited {
				refusedCount.Add(1)
				return
			}
			doneCount.Add(1)
		})
	}
	all.Wait()
	return doneCount.Load(), refusedCount.Load()
}

func attemptsWith(prefix string) func(int) Attempt {
	return func(i int) Attempt { return Attempt{Address: ada, Secret: fmt.Sprint(prefix, i)} }
}

// Of many attempts at the same time, exactly as many are allowed as there are tokens.
func TestConcurrentAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newCodeLimiter(New(Config{}), 10)
		for round, want := range []int64{10, 0, 1, 10} {
			time.Sleep([]time.Duration{0, time.Minute, 5 * time.Minute, time.Hour}[round])
			if done, refused := tryAll(t.Context(), l, 200, attemptsWith("x"), wrongCode); done != want || refused != 200-want {
				t.Errorf("round %d: %d were made and %d refused, want %d made", round, done, refused, want)
			}
		}
	})
}

// A whole school joins from one address at the same time, with more players than tokens,
// while one player sends wrong codes. Players with the right code are allowed, even later
// when no token is left.
func TestSchool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newCodeLimiter(New(Config{}), 10)
		school := Attempt{Address: ada, Secret: "demo/402951"}
		var joins sync.WaitGroup
		joins.Go(func() { tryAll(t.Context(), l, 8, attemptsWith("wrong"), wrongCode) })
		joins.Go(func() {
			began := time.Now()
			done, refused := tryAll(t.Context(), l, 500, func(int) Attempt { return school }, rightCode)
			if elapsed := time.Since(began); done != 500 || refused != 0 || elapsed > time.Second {
				t.Errorf("%d let in and %d not, in %v", done, refused, elapsed)
			}
		})
		joins.Wait()
		if done, _ := tryAll(t.Context(), l, 100, attemptsWith("more"), wrongCode); done != 2 {
			t.Errorf("%d more were made, want 2", done)
		}
		if done, _ := tryAll(t.Context(), l, 500, func(int) Attempt { return school }, rightCode); done != 500 {
			t.Errorf("%d let in after the wrong codes", done)
		}
		elsewhere := Attempt{Address: bob, Secret: school.Secret}
		tryAll(t.Context(), l, 10, func(i int) Attempt { return Attempt{Address: bob, Secret: fmt.Sprint(i)} }, wrongCode)
		if err := l.Try(t.Context(), elsewhere, rightCode); refusedFor(t, err) == 0 {
			t.Error("the secret is known for an address that has not used it")
		}
	})
}

// Right attempts return only the tokens that they have reserved, so they do not allow more
// wrong attempts.
func TestReturnedTokensAreNoMoreThanReserved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, wrong := newCodeLimiter(New(Config{}), 3), 0
		for i := range 40 {
			if l.Try(t.Context(), Attempt{Address: ada, Secret: fmt.Sprint("right", i)}, func() error { return nil }) != nil {
				break
			}
			if i%2 == 1 && l.Try(t.Context(), attemptsWith("x")(i), wrongCode) != nil {
				wrong++
			}
		}
		if wrong != 3 {
			t.Errorf("%d wrong attempts were made, want 3", wrong)
		}
	})
}

// An attempt that fails for another reason costs nothing and adds no secret. A panic
// counts as wrong.
func TestOtherErrorsAreNoFailedAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newCodeLimiter(New(Config{}), 1)
		one := Attempt{Address: ada, Secret: "s"}
		for _, err := range []error{errors.New("out of reach"), protocol.Errorf(protocol.CodeArenaFull, "full"), context.Canceled} {
			if got := l.Try(t.Context(), one, func() error { return err }); !errors.Is(got, err) {
				t.Errorf("%v, want %v", got, err)
			}
		}
		func() {
			defer func() { _ = recover() }()
			_ = l.Try(t.Context(), one, func() error { panic("a fault") })
		}()
		if wait := refusedFor(t, l.Try(t.Context(), one, rightCode)); wait != time.Hour {
			t.Errorf("wait %v", wait)
		}
		if (*FailureLimiter)(nil).Try(t.Context(), one, rightCode) != nil || (&FailureLimiter{}).Try(t.Context(), one, rightCode) != nil {
			t.Error("without a rule it is refused")
		}
	})
}

// When the address has no tokens, each player has one attempt, and all together have a few.
// After the first right attempt its secret is allowed without a token. An attempt that
// waits for the token of an attempt that does not end is refused.
func TestPlayersHaveAttemptsOfTheirOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newCodeLimiter(New(Config{}), 4)
		attempt := func(name, secret string) Attempt {
			return Attempt{Address: ada, Player: Named("demo", name), Secret: secret}
		}
		tryAll(t.Context(), l, 9, attemptsWith("x"), wrongCode)
		if wait := refusedFor(t, l.Try(t.Context(), Attempt{Address: ada, Secret: "right"}, rightCode)); wait <= 14*time.Minute || wait > 15*time.Minute {
			t.Errorf("no player: wait %v", wait)
		}
		if done, _ := tryAll(t.Context(), l, 50, func(i int) Attempt { return attempt("eve", fmt.Sprint(i)) }, wrongCode); done != 1 {
			t.Errorf("one player made %d attempts", done)
		}
		if err := l.Try(t.Context(), attempt("p1", "right"), rightCode); err != nil {
			t.Error(err)
		}
		if done, _ := tryAll(t.Context(), l, 50, func(int) Attempt { return Attempt{Address: ada, Secret: "right"} }, rightCode); done != 50 {
			t.Errorf("%d let in after the first", done)
		}
		if done, _ := tryAll(t.Context(), l, 50, func(i int) Attempt { return attempt(fmt.Sprint("q", i), fmt.Sprint(i)) }, wrongCode); done != 1 {
			t.Errorf("many players made %d more attempts, want 1", done)
		}
		time.Sleep(15 * time.Minute)
		stuck := make(chan struct{})
		go l.Try(t.Context(), attemptsWith("stuck")(0), func() error { <-stuck; return nil })
		synctest.Wait()
		if wait := refusedFor(t, l.Try(t.Context(), attemptsWith("other")(0), rightCode)); wait != time.Second {
			t.Errorf("beside one that does not end: wait %v", wait)
		}
		close(stuck)
	})
}

// Known secrets cannot be found by trying: after too many refusals they work only for
// players who have not been refused themselves.
func TestKnownSecretsCannotBeFoundByTrying(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newCodeLimiter(New(Config{}), 10)
		right := func(i int) Attempt {
			return Attempt{Address: ada, Player: Named("demo", fmt.Sprint("p", i)), Secret: "right"}
		}
		anonymous := func(int) Attempt { return Attempt{Address: ada, Secret: "right"} }
		if err := l.Try(t.Context(), anonymous(0), rightCode); err != nil {
			t.Fatal(err)
		}
		tryAll(t.Context(), l, 10+199, attemptsWith("x"), wrongCode)
		if done, _ := tryAll(t.Context(), l, 50, anonymous, rightCode); done != 50 {
			t.Errorf("below the limit of refusals %d let in", done)
		}
		tryAll(t.Context(), l, 5000, attemptsWith("y"), wrongCode)
		if done, _ := tryAll(t.Context(), l, 50, anonymous, rightCode); done != 0 {
			t.Errorf("%d without a player let in", done)
		}
		if done, _ := tryAll(t.Context(), l, 500, right, rightCode); done != 500 {
			t.Errorf("%d of 500 players let in", done)
		}
		scanner := func(i int) Attempt { return Attempt{Address: ada, Player: Named("demo", "eve"), Secret: fmt.Sprint(i)} }
		tryAll(t.Context(), l, 3, scanner, wrongCode)
		if err := l.Try(t.Context(), Attempt{Address: ada, Player: Named("demo", "eve"), Secret: "right"}, rightCode); refusedFor(t, err) == 0 {
			t.Error("a refused player can use a known secret")
		}
	})
}

// In dry run all attempts are made, and those that would be refused are counted.
func TestFailureLimiterInDryRun(t *testing.T) {
	t.Parallel()
	l := newCodeLimiter(New(Config{DryRun: func(string) bool { return true }}), 2)
	for range 5 {
		if e, ok := errors.AsType[*protocol.Error](l.Try(t.Context(), attemptsWith("x")(0), wrongCode)); !ok || e.Code != protocol.CodeNotFound {
			t.Errorf("%v", e)
		}
	}
	if got := countersOf(l.PerAddress); got != [5]float64{0, 0, 3} {
		t.Errorf("counted %v", got)
	}
}

// While the store is unreachable, also from the middle of an attempt on, each node
// decides alone.
func TestFailureLimiterWithoutItsStore(t *testing.T) {
	t.Parallel()
	s := &fakeStore{}
	l := newCodeLimiter(New(Config{Store: s}), 3)
	storeFails := func() error {
		s.fail(errors.New("out of reach"))
		return wrongCode()
	}
	done, refused := 0, 0
	for _, try := range []func() error{storeFails, rightCode, wrongCode, wrongCode, wrongCode, rightCode} {
		if e, ok := errors.AsType[*protocol.Error](l.Try(t.Context(), attemptsWith("x")(done+refused), try)); ok && e.Code == protocol.CodeRateLimited {
			refused++
			continue
		}
		done++
	}
	if done != 4 || refused != 2 {
		t.Errorf("%d made, %d refused", done, refused)
	}
	if got := countersOf(l.PerAddress)[3]; got != 6 {
		t.Errorf("%v counted as decided alone", got)
	}
}

// If publishing a secret fails, the next attempt with it after a second publishes it
// again.
func TestSecretIsPublishedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fakeStore{}
		s.fail(errors.New("out of reach"))
		l := newCodeLimiter(New(Config{Store: s}), 9)
		try := func() {
			if err := l.Try(t.Context(), Attempt{Address: ada, Secret: "right"}, rightCode); err != nil {
				t.Error(err)
			}
		}
		try()
		s.fail(nil)
		if try(); len(s.secrets) != 1 {
			t.Errorf("published %d times at once", len(s.secrets))
		}
		time.Sleep(time.Second)
		for range 3 {
			try()
		}
		if len(s.secrets) != 2 {
			t.Errorf("published %d times", len(s.secrets))
		}
	})
}

// The secrets of other nodes are fetched at most once a second, and only for refused
// attempts.
func TestSecretsOfOtherNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fakeStore{}
		l := newCodeLimiter(New(Config{Store: s}), 2)
		right := Attempt{Address: ada, Secret: "right"}
		if err := l.Try(t.Context(), Attempt{Address: ada, Secret: "mine"}, rightCode); err != nil || s.fetches != 0 || len(s.secrets) != 1 {
			t.Errorf("%v, asked %d times, secrets %v", err, s.fetches, s.secrets)
		}
		s.wait = 10 * time.Minute
		for range 20 {
			if l.Try(t.Context(), right, rightCode) == nil {
				t.Error("the attempt is made")
			}
		}
		s.secrets = append(s.secrets, right.Secret)
		time.Sleep(time.Second)
		for range 20 {
			if err := l.Try(t.Context(), right, rightCode); err != nil {
				t.Error(err)
			}
		}
		if s.fetches != 2 {
			t.Errorf("asked %d times", s.fetches)
		}
	})
}

// Only the newest secrets of a key are stored.
func TestMaxSecrets(t *testing.T) {
	t.Parallel()
	b := newBucket(1, 1, time.Hour)
	for i := range MaxSecrets + 5 {
		b.addSecret(time.Now(), fmt.Sprint(i))
	}
	if len(b.attempts.secrets) != MaxSecrets || b.knowsSecret("4") || !b.knowsSecret("5") || b.addSecret(time.Now(), "5") {
		t.Errorf("%d secrets", len(b.attempts.secrets))
	}
}
