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

	// RefusalsPerAddress counts the refused attempts per address. While its
	// tokens are used up, known secrets work only for players with a token of PerPlayer.
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
	defer func() { end(isWrong) }()
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

// maxAttemptWait is how long an attempt waits for the address's other attempts to end.
const maxAttemptWait = time.Second

func doNotCount(bool) {}

// begin begins an attempt, or returns the refusal. It first waits until the address's other
// attempts at this node have ended. The caller calls end after the attempt. A known secret
// begins without tokens.
func (l *FailureLimiter) begin(ctx context.Context, attempt Attempt) (end func(isWrong bool), err error) {
	if l.mayUseKnownSecret(ctx, attempt) && l.PerAddress.knowsSecret(attempt) {
		return doNotCount, nil
	}
	slot := l.PerAddress.buckets.attemptSlot(attempt.Address)
	select {
	case slot <- struct{}{}:
	case <-ctx.Done():
		return doNotCount, l.PerAddress.refuse(maxAttemptWait)
	case <-time.After(maxAttemptWait):
		return doNotCount, l.PerAddress.refuse(maxAttemptWait)
	}
	charges, wait := l.findTokens(ctx, attempt)
	if len(charges) == 0 {
		<-slot
		return doNotCount, l.PerAddress.refuse(wait)
	}
	return func(isWrong bool) {
		if isWrong {
			for rule, key := range charges {
				rule.Charge(context.WithoutCancel(ctx), key, 1)
			}
		}
		<-slot
	}, nil
}

// findTokens returns the rules and keys whose tokens a wrong secret takes, none for a known
// secret. If tokens are missing, it returns how long to wait. If only PlayersPerAddress
// refuses, the attempt counts against the player.
func (l *FailureLimiter) findTokens(ctx context.Context, attempt Attempt) (charges map[*Rule]Key, wait time.Duration) {
	mayUseKnown := l.mayUseKnownSecret(ctx, attempt)
	if mayUseKnown && l.PerAddress.knowsSecret(attempt) {
		return nil, 0
	}
	if wait = l.PerAddress.tokenWait(ctx, attempt.Address); wait == 0 {
		return map[*Rule]Key{l.PerAddress: attempt.Address}, 0
	}
	if mayUseKnown && l.PerAddress.fetchSecret(ctx, attempt) {
		return nil, 0
	}
	_ = l.RefusalsPerAddress.Take(ctx, attempt.Address, 1) // counts this refusal
	if attempt.Player == (Key{}) || l.PlayersPerAddress == nil || l.PerPlayer == nil {
		return nil, wait
	}
	if playerWait := l.PerPlayer.tokenWait(ctx, attempt.Player); playerWait > 0 {
		return nil, min(wait, playerWait)
	}
	if playersWait := l.PlayersPerAddress.tokenWait(ctx, attempt.Address); playersWait > 0 {
		l.PerPlayer.Charge(ctx, attempt.Player, 1)
		return nil, min(wait, playersWait)
	}
	return map[*Rule]Key{l.PerPlayer: attempt.Player, l.PlayersPerAddress: attempt.Address}, 0
}

// mayUseKnownSecret returns true if the client has not been refused too often to use a
// known secret without a token.
func (l *FailureLimiter) mayUseKnownSecret(ctx context.Context, attempt Attempt) bool {
	return l.RefusalsPerAddress.tokenWait(ctx, attempt.Address) == 0 ||
		attempt.Player != (Key{}) && l.PerPlayer.tokenWait(ctx, attempt.Player) == 0
}

// tokenWait returns how long a key must wait for its next token; 0 means that it has one.
// In dry run it returns 0 and counts that the rule would refuse.
func (r *Rule) tokenWait(ctx context.Context, key Key) time.Duration {
	if r == nil {
		return 0
	}
	wait := r.waitTime(ctx, key, 1, Check)
	if wait > 0 && r.dryRun {
		r.wouldRefuse.Inc()
		return 0
	}
	return wait
}

// knownSecretTTL is how long a node remembers a known secret.
const knownSecretTTL = 24 * time.Hour

// knowsSecret returns true if this node knows that an attempt's secret is right for its
// address.
func (r *Rule) knowsSecret(attempt Attempt) bool {
	attempt.Player = Key{}
	expiresAt, ok := r.secrets.Get(attempt)
	return ok && time.Now().Before(expiresAt)
}

func (r *Rule) rememberSecret(attempt Attempt) {
	attempt.Player = Key{}
	r.secrets.Add(attempt, time.Now().Add(knownSecretTTL))
}

// addSecret stores that an attempt's secret is right for its address, in the shared store
// and at this node. If the store fails, this node does not learn it either, so that the
// next right attempt stores it again.
func (r *Rule) addSecret(ctx context.Context, attempt Attempt) {
	if r.knowsSecret(attempt) {
		return
	}
	if r.store != nil {
		ctx, cancel := context.WithTimeout(ctx, storeTimeout)
		defer cancel()
		if r.store.AddSecret(ctx, r.config.Name, attempt.Address.String(), attempt.Secret) != nil {
			r.storeErrors.Inc()
			return
		}
	}
	r.rememberSecret(attempt)
}

// fetchSecret returns true if the shared store has an attempt's secret for its address.
func (r *Rule) fetchSecret(ctx context.Context, attempt Attempt) bool {
	if r.store == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	found, err := r.store.HasSecret(ctx, r.config.Name, attempt.Address.String(), attempt.Secret)
	if err != nil {
		r.storeErrors.Inc()
	}
	if found {
		r.rememberSecret(attempt)
	}
	return found
}
