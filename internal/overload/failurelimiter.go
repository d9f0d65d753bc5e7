package overload

import (
	"context"
	"errors"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

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
// *FailureLimiter allows all. It is safe for concurrent use.
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

	known   *lru.Cache[Attempt, time.Time] // until when this node knows a secret as right for an address; no Attempt has a Player
	running *lru.Cache[Key, chan struct{}] // by address; a channel has an element while an attempt runs
}

// maxAttemptWait is how long an attempt waits for the address's other attempts to end.
const maxAttemptWait = time.Second

// NewFailureLimiter returns a limiter with these rules, nil if PerAddress is nil.
func NewFailureLimiter(rules FailureLimiter) *FailureLimiter {
	if rules.PerAddress == nil {
		return nil
	}
	rules.known, _ = lru.New[Attempt, time.Time](defaultMaxKeys) // both fail only for a size below 1
	rules.running, _ = lru.New[Key, chan struct{}](defaultMaxKeys)
	return &rules
}

// Try calls try and returns its error, or refuses with a *protocol.Error of code
// rate_limited without calling it. The secret counts as wrong if try returns a
// *protocol.Error of code not_found or panics, and as right if try returns nil.
func (l *FailureLimiter) Try(ctx context.Context, attempt Attempt, try func() error) error {
	if l == nil || l.isKnown(attempt) && l.mayUseKnown(ctx, attempt) {
		return try()
	}
	leave, err := l.enter(ctx, attempt.Address)
	if err != nil {
		return err
	}
	defer leave()
	charges, wait := l.findTokens(ctx, attempt)
	if len(charges) == 0 {
		leave()
		if err := l.PerAddress.refuse(wait); err != nil {
			return err
		}
		return try()
	}
	isWrong := true // also after a panic
	defer func() {
		for rule, key := range charges {
			if isWrong {
				rule.Charge(context.WithoutCancel(ctx), key, 1)
			}
		}
	}()
	err = try()
	refusal, ok := errors.AsType[*protocol.Error](err)
	isWrong = ok && refusal.Code == protocol.CodeNotFound
	if err == nil {
		l.AddSecret(ctx, attempt)
	}
	return err
}

// enter waits until the address's other attempts at this node have ended, or returns the
// refusal. The caller calls leave at the end of the attempt.
func (l *FailureLimiter) enter(ctx context.Context, address Key) (leave func(), err error) {
	slot := make(chan struct{}, 1)
	if earlier, ok, _ := l.running.PeekOrAdd(address, slot); ok {
		slot = earlier
	}
	ctx, cancel := context.WithTimeout(ctx, maxAttemptWait)
	defer cancel()
	select {
	case slot <- struct{}{}:
		return sync.OnceFunc(func() { <-slot }), nil
	case <-ctx.Done():
		return func() {}, l.PerAddress.refuse(maxAttemptWait)
	}
}

// findTokens returns the rules and keys whose tokens a wrong secret takes, none for a known
// secret. If tokens are missing, it returns how long to wait. If only PlayersPerAddress
// refuses, the attempt counts against the player.
func (l *FailureLimiter) findTokens(ctx context.Context, attempt Attempt) (charges map[*Rule]Key, wait time.Duration) {
	mayUseKnown := l.mayUseKnown(ctx, attempt)
	if mayUseKnown && l.isKnown(attempt) {
		return nil, 0
	}
	if wait = l.PerAddress.tokenWait(ctx, attempt.Address); wait == 0 {
		return map[*Rule]Key{l.PerAddress: attempt.Address}, 0
	}
	if mayUseKnown && l.fetchKnown(ctx, attempt) {
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

// mayUseKnown returns true if the client has not been refused too often to use a known
// secret without a token.
func (l *FailureLimiter) mayUseKnown(ctx context.Context, attempt Attempt) bool {
	return l.RefusalsPerAddress.tokenWait(ctx, attempt.Address) == 0 ||
		attempt.Player != (Key{}) && l.PerPlayer.tokenWait(ctx, attempt.Player) == 0
}

// Attempt is an attempt to use a secret, such as a join code.
type Attempt struct {
	Address Key
	Player  Key // the zero Key if the player is unknown
	Secret  string
}

// knownSecretTTL is how long a node remembers a known secret.
const knownSecretTTL = 24 * time.Hour

// isKnown returns true if this node knows that an attempt's secret is right for its address.
func (l *FailureLimiter) isKnown(attempt Attempt) bool {
	attempt.Player = Key{}
	expiresAt, ok := l.known.Get(attempt)
	return ok && time.Now().Before(expiresAt)
}

// AddSecret makes a secret known that the server has given to a client at its address, in the
// shared store and at this node. If the store fails, this node does not learn it either, so that
// the next right attempt stores it again.
func (l *FailureLimiter) AddSecret(ctx context.Context, attempt Attempt) {
	if l == nil || l.isKnown(attempt) {
		return
	}
	err := l.PerAddress.callStore(context.WithoutCancel(ctx), func(ctx context.Context, store Store) error {
		return store.AddSecret(ctx, l.PerAddress.config.Name, attempt.Address.String(), attempt.Secret)
	})
	if err == nil {
		l.remember(attempt)
	}
}

// fetchKnown returns true if the shared store has an attempt's secret for its address.
func (l *FailureLimiter) fetchKnown(ctx context.Context, attempt Attempt) (found bool) {
	_ = l.PerAddress.callStore(ctx, func(ctx context.Context, store Store) (err error) {
		found, err = store.HasSecret(ctx, l.PerAddress.config.Name, attempt.Address.String(), attempt.Secret)
		return err
	})
	if found {
		l.remember(attempt)
	}
	return found
}

func (l *FailureLimiter) remember(attempt Attempt) {
	attempt.Player = Key{}
	l.known.Add(attempt, time.Now().Add(knownSecretTTL))
}
