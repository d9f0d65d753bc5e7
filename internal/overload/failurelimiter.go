package overload

import (
	"context"
	"errors"
	"time"

	"laststand/internal/protocol"
)

// FailureLimiter limits how many wrong secrets, such as join codes, an address may try. It
// counts a failure after the attempt, so that a right secret costs nothing, whatever else
// fails. At one node the attempts of an address with unknown secrets run one after the
// other, so that the limit is exact. Each other node can exceed it by one attempt, which
// becomes a debt of the address.
//
// An address may use a secret that was right for it before without a token and without
// waiting. So an attacker behind the address of a school does not lock out the school's
// players. RefusalsPerAddress keeps the attacker from finding such secrets by trying. A nil
// *FailureLimiter and one with a nil PerAddress allow all. It is safe for concurrent use.
type FailureLimiter struct {
	PerAddress *Rule // wrong attempts per address; the limiter's errors name this rule's limit

	// When PerAddress has no token left, an attempt with a known Player may still use
	// tokens of both of these rules. So a player with the right secret competes only with
	// the attacker's players. If one of the rules is nil, no such attempt is allowed.
	PlayersPerAddress *Rule // wrong attempts of all such players, per address
	PerPlayer         *Rule // wrong attempts per Attempt.Player

	// RefusalsPerAddress counts the refused attempts per address. When it has no token
	// left, known secrets work only for players who have a token of PerPlayer left.
	RefusalsPerAddress *Rule
}

// Attempt is an attempt to use a secret, such as a join code.
type Attempt struct {
	Address Key
	Player  Key // the zero Key if the player is unknown
	Secret  string
}

// Try calls try and returns its error, or refuses with a *protocol.Error of code
// rate_limited without calling it. The secret counts as wrong if try returns a
// *protocol.Error of code not_found or panics, and as right if try returns nil.
func (l *FailureLimiter) Try(ctx context.Context, attempt Attempt, try func() error) error {
	if l == nil || l.PerAddress == nil {
		return try()
	}
	end, err := l.begin(ctx, attempt)
	if err != nil {
		return err
	}
	isWrong := true // also after a panic
	defer func() { end(context.WithoutCancel(ctx), isWrong) }()
	err = try()
	refusal, ok := errors.AsType[*protocol.Error](err)
	isWrong = ok && refusal.Code == protocol.CodeNotFound
	if err == nil {
		l.AddSecret(ctx, attempt)
	}
	return err
}

// AddSecret makes a secret known that the server has given to a client at its address.
func (l *FailureLimiter) AddSecret(ctx context.Context, attempt Attempt) {
	if l != nil && l.PerAddress != nil {
		l.PerAddress.addSecret(context.WithoutCancel(ctx), attempt)
	}
}

// endAttempt ends an attempt that has begun, and counts it if its secret was wrong.
type endAttempt func(ctx context.Context, isWrong bool)

func doNotCount(context.Context, bool) {}

// begin begins an attempt, or returns the refusal. A known secret begins without tokens.
func (l *FailureLimiter) begin(ctx context.Context, attempt Attempt) (endAttempt, error) {
	isKnown := func() bool { return l.PerAddress.knowsSecret(attempt) && l.mayUseKnownSecret(ctx, attempt) }
	if isKnown() {
		return doNotCount, nil
	}
	end, wait := l.PerAddress.beginAttempt(ctx, attempt.Address, isKnown)
	if wait <= 0 || l.mayUseKnownSecret(ctx, attempt) && l.PerAddress.fetchSecret(ctx, attempt) {
		return end, nil
	}
	l.RefusalsPerAddress.TakeIfAvailable(ctx, attempt.Address)
	if attempt.Player != (Key{}) && l.PlayersPerAddress != nil && l.PerPlayer != nil {
		endAsPlayer, playerWait := l.beginAsPlayer(ctx, attempt, isKnown)
		if playerWait <= 0 {
			return endAsPlayer, nil
		}
		wait = min(wait, playerWait)
	}
	return nil, l.PerAddress.refuse(wait)
}

// mayUseKnownSecret returns true if the client has not been refused too often to use a
// known secret without a token.
func (l *FailureLimiter) mayUseKnownSecret(ctx context.Context, attempt Attempt) bool {
	return l.RefusalsPerAddress.hasToken(ctx, attempt.Address) || attempt.Player != (Key{}) && l.PerPlayer.hasToken(ctx, attempt.Player)
}

// beginAsPlayer begins an attempt with PerPlayer and PlayersPerAddress, or returns how long
// to wait. If only the second refuses, the attempt counts against the player.
func (l *FailureLimiter) beginAsPlayer(ctx context.Context, attempt Attempt, isKnown func() bool) (endAttempt, time.Duration) {
	endPlayer, wait := l.PerPlayer.beginAttempt(ctx, attempt.Player, isKnown)
	if wait > 0 {
		return nil, wait
	}
	endAddress, wait := l.PlayersPerAddress.beginAttempt(ctx, attempt.Address, isKnown)
	if wait > 0 {
		endPlayer(context.WithoutCancel(ctx), true)
		return nil, wait
	}
	l.PlayersPerAddress.counters.allowed.Inc()
	return func(ctx context.Context, isWrong bool) {
		endAddress(ctx, isWrong)
		endPlayer(ctx, isWrong)
	}, 0
}

// beginAttempt begins an attempt of a key, or returns how long until it may begin. It first
// waits until the key's other attempts at this node have ended, at most a second.
func (r *Rule) beginAttempt(ctx context.Context, key Key, isKnown func() bool) (endAttempt, time.Duration) {
	slot := r.bucket(time.Now(), key).attemptSlot()
	wait := time.Second
	select {
	case slot <- struct{}{}:
		if isKnown() {
			<-slot
			return doNotCount, 0
		}
		if wait = r.waitTime(ctx, key, 1, Check); wait <= 0 {
			return func(ctx context.Context, isWrong bool) {
				if isWrong {
					r.Charge(ctx, key, 1)
				}
				<-slot
			}, 0
		}
		<-slot
	case <-ctx.Done():
	case <-time.After(wait):
	}
	if r.dryRun {
		r.counters.wouldRefuse.Inc()
		return doNotCount, 0
	}
	return doNotCount, wait
}
