package overload

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

// secretStore stores secrets of addresses. It is out of reach for tokens, so that the node counts
// alone.
type secretStore struct{ known sync.Map }

func (*secretStore) Take(context.Context, SharedDemand) (time.Duration, error) {
	return 0, errors.New("out of reach")
}

func (s *secretStore) AddSecret(_ context.Context, _, key, secret string) error {
	s.known.Store([2]string{key, secret}, true)
	return nil
}

func (s *secretStore) HasSecret(_ context.Context, _, key, secret string) (bool, error) {
	_, isKnown := s.known.Load([2]string{key, secret})
	return isKnown, nil
}

// newCodeLimiter returns a limiter of limit wrong attempts an hour. Above that it allows
// two attempts an hour with a known player, and one of each player.
func newCodeLimiter(limiter *Limiter, limit int) *FailureLimiter {
	rule := func(name string, limit int) *Rule {
		return limiter.NewRule(RuleConfig{Name: name, Subject: name, Limit: limit, Per: time.Hour, ClusterWide: true})
	}
	return NewFailureLimiter(FailureLimiter{
		PerAddress: rule("wrong codes", limit), PlayersPerAddress: rule("late", 2), PerPlayer: rule("late of one", 1),
		RefusalsPerAddress: limiter.NewRule(RuleConfig{Name: "refused", Limit: 20 * limit, Per: time.Hour}),
	})
}

// tryConcurrently makes n attempts at the same time and counts the allowed and refused
// ones.
func tryConcurrently(ctx context.Context, limiter *FailureLimiter, count int, newAttempt func(i int) Attempt, try func() error) (allowed, refused int64) {
	var allowedCount, refusedCount atomic.Int64
	var attempts sync.WaitGroup
	for i := range count {
		attempts.Go(func() {
			err := limiter.Try(ctx, newAttempt(i), try)
			if e, ok := errors.AsType[*protocol.Error](err); ok && e.Code == protocol.CodeRateLimited {
				refusedCount.Add(1)
				return
			}
			allowedCount.Add(1)
		})
	}
	attempts.Wait()
	return allowedCount.Load(), refusedCount.Load()
}

func attemptsWithPrefix(prefix string) func(int) Attempt {
	return func(i int) Attempt { return Attempt{Address: ada, Secret: fmt.Sprint(prefix, i)} }
}

// Of many attempts at the same time, exactly as many are allowed as there are tokens.
func TestConcurrentAttemptsUseExactlyTheTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limiter := newCodeLimiter(NewLimiter(LimiterConfig{}), 10)
		for round, want := range []int64{10, 0, 1, 10} {
			time.Sleep([]time.Duration{0, time.Minute, 5 * time.Minute, time.Hour}[round])
			if allowed, refused := tryConcurrently(t.Context(), limiter, 200, attemptsWithPrefix("x"), wrongCode); allowed != want || refused != 200-want {
				t.Errorf("round %d: %d allowed and %d refused, want %d allowed", round, allowed, refused, want)
			}
		}
	})
}

// A whole school joins from one address at the same time, with more players than tokens,
// while one player sends wrong codes. Players with the right code are allowed, even later
// when no token is left.
func TestSchoolMayJoinFromAddressOfAttacker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limiter := newCodeLimiter(NewLimiter(LimiterConfig{Store: new(secretStore)}), 10)
		schoolAttempt := Attempt{Address: ada, Secret: "demo/402951"}
		var joins sync.WaitGroup
		joins.Go(func() { tryConcurrently(t.Context(), limiter, 8, attemptsWithPrefix("wrong"), wrongCode) })
		joins.Go(func() {
			startedAt := time.Now()
			allowed, refused := tryConcurrently(t.Context(), limiter, 500, func(int) Attempt { return schoolAttempt }, rightCode)
			if elapsed := time.Since(startedAt); allowed != 500 || refused != 0 || elapsed > time.Second {
				t.Errorf("%d allowed and %d refused, in %v", allowed, refused, elapsed)
			}
		})
		joins.Wait()
		if allowed, _ := tryConcurrently(t.Context(), limiter, 100, attemptsWithPrefix("more"), wrongCode); allowed != 2 {
			t.Errorf("%d more attempts were allowed, want 2", allowed)
		}
		if allowed, _ := tryConcurrently(t.Context(), limiter, 500, func(int) Attempt { return schoolAttempt }, rightCode); allowed != 500 {
			t.Errorf("%d allowed after the wrong codes", allowed)
		}
		elsewhere := Attempt{Address: bob, Secret: schoolAttempt.Secret}
		tryConcurrently(t.Context(), limiter, 10, func(i int) Attempt { return Attempt{Address: bob, Secret: fmt.Sprint(i)} }, wrongCode)
		if err := limiter.Try(t.Context(), elsewhere, rightCode); retryTime(t, err) == 0 {
			t.Error("the secret is known for an address that has not used it")
		}
	})
}

// Right attempts return only the tokens that they have reserved, so they do not allow more
// wrong attempts.
func TestRightAttemptsAllowNoMoreWrongOnes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limiter, wrongAttempts := newCodeLimiter(NewLimiter(LimiterConfig{Store: new(secretStore)}), 3), 0
		for i := range 40 {
			if limiter.Try(t.Context(), Attempt{Address: ada, Secret: fmt.Sprint("right", i)}, func() error { return nil }) != nil {
				break
			}
			if i%2 == 1 && limiter.Try(t.Context(), attemptsWithPrefix("x")(i), wrongCode) != nil {
				wrongAttempts++
			}
		}
		if wrongAttempts != 3 {
			t.Errorf("%d wrong attempts were made, want 3", wrongAttempts)
		}
	})
}

// An attempt that fails for another reason costs nothing and makes no secret known. A panic
// counts as wrong.
func TestOtherErrorsDoNotCountAsWrongSecrets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limiter := newCodeLimiter(NewLimiter(LimiterConfig{}), 1)
		attempt := Attempt{Address: ada, Secret: "s"}
		for _, err := range []error{errors.New("out of reach"), protocol.Errorf(protocol.CodeArenaFull, "full"), context.Canceled} {
			if got := limiter.Try(t.Context(), attempt, func() error { return err }); !errors.Is(got, err) {
				t.Errorf("%v, want %v", got, err)
			}
		}
		func() {
			defer func() { _ = recover() }()
			_ = limiter.Try(t.Context(), attempt, func() error { panic("a fault") })
		}()
		if wait := retryTime(t, limiter.Try(t.Context(), attempt, rightCode)); wait != time.Hour {
			t.Errorf("wait %v", wait)
		}
		if (*FailureLimiter)(nil).Try(t.Context(), attempt, rightCode) != nil || NewFailureLimiter(FailureLimiter{}).Try(t.Context(), attempt, rightCode) != nil {
			t.Error("refused without a rule")
		}
	})
}

// When the address has no tokens, each player has one attempt, and all together have a few.
// After the first right attempt its secret is allowed without a token. An attempt that
// waits for the token of an attempt that does not end is refused.
func TestPlayersHaveOwnAttemptsWhenTheAddressHasNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limiter := newCodeLimiter(NewLimiter(LimiterConfig{Store: new(secretStore)}), 4)
		attempt := func(name, secret string) Attempt {
			return Attempt{Address: ada, Player: ObjectKey("demo", name), Secret: secret}
		}
		tryConcurrently(t.Context(), limiter, 9, attemptsWithPrefix("x"), wrongCode)
		if wait := retryTime(t, limiter.Try(t.Context(), Attempt{Address: ada, Secret: "right"}, rightCode)); wait <= 14*time.Minute || wait > 15*time.Minute {
			t.Errorf("no player: wait %v", wait)
		}
		if allowed, _ := tryConcurrently(t.Context(), limiter, 50, func(i int) Attempt { return attempt("eve", fmt.Sprint(i)) }, wrongCode); allowed != 1 {
			t.Errorf("one player made %d attempts", allowed)
		}
		if err := limiter.Try(t.Context(), attempt("p1", "right"), rightCode); err != nil {
			t.Error(err)
		}
		if allowed, _ := tryConcurrently(t.Context(), limiter, 50, func(int) Attempt { return Attempt{Address: ada, Secret: "right"} }, rightCode); allowed != 50 {
			t.Errorf("%d allowed after the first", allowed)
		}
		if allowed, _ := tryConcurrently(t.Context(), limiter, 50, func(i int) Attempt { return attempt(fmt.Sprint("q", i), fmt.Sprint(i)) }, wrongCode); allowed != 1 {
			t.Errorf("many players made %d more attempts, want 1", allowed)
		}
		time.Sleep(15 * time.Minute)
		release := make(chan struct{})
		go limiter.Try(t.Context(), attemptsWithPrefix("stuck")(0), func() error { <-release; return nil })
		synctest.Wait()
		if wait := retryTime(t, limiter.Try(t.Context(), attemptsWithPrefix("other")(0), rightCode)); wait != time.Second {
			t.Errorf("while another attempt does not end: wait %v", wait)
		}
		close(release)
	})
}

// Known secrets cannot be found by trying: after too many refusals they work only for
// players who have not been refused themselves.
func TestKnownSecretsCannotBeFoundByTrying(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limiter := newCodeLimiter(NewLimiter(LimiterConfig{Store: new(secretStore)}), 10)
		playerAttempt := func(i int) Attempt {
			return Attempt{Address: ada, Player: ObjectKey("demo", fmt.Sprint("p", i)), Secret: "right"}
		}
		anonymousAttempt := func(int) Attempt { return Attempt{Address: ada, Secret: "right"} }
		if err := limiter.Try(t.Context(), anonymousAttempt(0), rightCode); err != nil {
			t.Fatal(err)
		}
		tryConcurrently(t.Context(), limiter, 10+199, attemptsWithPrefix("x"), wrongCode)
		if allowed, _ := tryConcurrently(t.Context(), limiter, 50, anonymousAttempt, rightCode); allowed != 50 {
			t.Errorf("below the limit of refusals %d allowed", allowed)
		}
		tryConcurrently(t.Context(), limiter, 5000, attemptsWithPrefix("y"), wrongCode)
		if allowed, _ := tryConcurrently(t.Context(), limiter, 50, anonymousAttempt, rightCode); allowed != 0 {
			t.Errorf("%d attempts without a player allowed", allowed)
		}
		if allowed, _ := tryConcurrently(t.Context(), limiter, 500, playerAttempt, rightCode); allowed != 500 {
			t.Errorf("%d of 500 players allowed", allowed)
		}
		attackerAttempt := func(i int) Attempt {
			return Attempt{Address: ada, Player: ObjectKey("demo", "eve"), Secret: fmt.Sprint(i)}
		}
		tryConcurrently(t.Context(), limiter, 3, attackerAttempt, wrongCode)
		if err := limiter.Try(t.Context(), Attempt{Address: ada, Player: ObjectKey("demo", "eve"), Secret: "right"}, rightCode); retryTime(t, err) == 0 {
			t.Error("a refused player can use a known secret")
		}
	})
}

// A player who is refused because of the address then counts as one who guesses. After too
// many refusals of the address, known secrets need the player's own token too.
func TestAttemptRefusedForTheAddressCountsAgainstThePlayer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limiter := newCodeLimiter(NewLimiter(LimiterConfig{Store: new(secretStore)}), 1)
		try := func(player, secret string, result func() error) error {
			attempt := Attempt{Address: ada, Secret: secret}
			if player != "" {
				attempt.Player = ObjectKey("demo", player)
			}
			return limiter.Try(t.Context(), attempt, result)
		}
		if err := try("", "right", rightCode); err != nil {
			t.Fatal(err)
		}
		for i := range 40 { // more than the tokens of the address, its players and its refusals
			_ = try("", fmt.Sprint("x", i), wrongCode)
			_ = try(fmt.Sprint("p", i), fmt.Sprint("y", i), wrongCode)
		}
		if err := try("eve", "right", rightCode); err != nil {
			t.Errorf("before the guess: %v", err)
		}
		if err := try("eve", "guess", wrongCode); retryTime(t, err) == 0 {
			t.Error("the guess is allowed")
		}
		if err := try("eve", "right", rightCode); retryTime(t, err) == 0 {
			t.Error("after the guess a known secret is allowed")
		}
	})
}

// In dry run all attempts are made, and those that would be refused are counted.
func TestFailureLimiterInDryRunRefusesNothing(t *testing.T) {
	t.Parallel()
	limiter := newCodeLimiter(NewLimiter(LimiterConfig{IsDryRun: func(string) bool { return true }}), 2)
	for range 5 {
		if e, ok := errors.AsType[*protocol.Error](limiter.Try(t.Context(), attemptsWithPrefix("x")(0), wrongCode)); !ok || e.Code != protocol.CodeNotFound {
			t.Errorf("%v", e)
		}
	}
	if got := ruleCounts(limiter.PerAddress); got != [4]float64{0, 0, 3} {
		t.Errorf("counted %v", got)
	}
}

// While the store is unreachable, also from the middle of an attempt on, each node
// decides alone.
func TestFailureLimiterWorksWithoutItsStore(t *testing.T) {
	t.Parallel()
	store := &fakeStore{}
	limiter := newCodeLimiter(NewLimiter(LimiterConfig{Store: store}), 3)
	storeFails := func() error {
		store.setError(errors.New("out of reach"))
		return wrongCode()
	}
	allowed, refused := 0, 0
	for _, try := range []func() error{storeFails, rightCode, wrongCode, wrongCode, wrongCode, rightCode} {
		if e, ok := errors.AsType[*protocol.Error](limiter.Try(t.Context(), attemptsWithPrefix("x")(allowed+refused), try)); ok && e.Code == protocol.CodeRateLimited {
			refused++
			continue
		}
		allowed++
	}
	if allowed != 4 || refused != 2 {
		t.Errorf("%d allowed, %d refused", allowed, refused)
	}
	if ruleCounts(limiter.PerAddress)[3] == 0 {
		t.Error("no decision is counted as made alone")
	}
}

// If storing a secret fails, the next attempt with it stores it again.
func TestFailedStorageOfSecretIsRepeated(t *testing.T) {
	t.Parallel()
	store := &fakeStore{}
	store.setError(errors.New("out of reach"))
	limiter := newCodeLimiter(NewLimiter(LimiterConfig{Store: store}), 9)
	for i := range 4 {
		if err := limiter.Try(t.Context(), Attempt{Address: ada, Secret: "right"}, rightCode); err != nil {
			t.Error(err)
		}
		if want := min(i, 1); len(store.secrets) != want {
			t.Errorf("stored %d times after %d attempts", len(store.secrets), i+1)
		}
		store.setError(nil)
	}
}

// A secret that another node has stored works when this node would refuse the attempt.
func TestSecretsOfOtherNodesAreFetched(t *testing.T) {
	t.Parallel()
	store := &fakeStore{wait: 10 * time.Minute}
	limiter := newCodeLimiter(NewLimiter(LimiterConfig{Store: store}), 2)
	right := Attempt{Address: ada, Secret: "right"}
	if limiter.Try(t.Context(), right, rightCode) == nil {
		t.Error("an unknown secret is allowed")
	}
	store.secrets = append(store.secrets, right.Secret)
	for range 20 {
		if err := limiter.Try(t.Context(), right, rightCode); err != nil {
			t.Error(err)
		}
	}
}
