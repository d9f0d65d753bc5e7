package overload

import (
	"context"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/semaphore"

	"laststand/internal/protocol"
)

// FailureLimiter limits how many wrong secrets, such as join codes, an address may try. It counts a
// failure after the attempt, so that a right secret costs nothing, whatever else fails. At one node
// the attempts of an address with unknown secrets run one after the other, so that the limit is
// exact. Each other node can exceed it by one attempt, which becomes a debt of the address.
//
// An address may use a secret that was right for it before without a token and without waiting. So
// an attacker behind the address of a school does not lock out the school's players. A nil
// *FailureLimiter allows all. It is safe for concurrent use.
type FailureLimiter struct {
	PerAddress *Rule // wrong attempts per address; the limiter's errors name this rule's limit

	// When PerAddress has no token left, an attempt with a known Player may still use tokens of both
	// of these rules. So a player with the right secret competes only with the attacker's players. If
	// one of the rules is nil, no such attempt is allowed.
	PlayersPerAddress *Rule // wrong attempts of all such players, per address
	PerPlayer         *Rule // wrong attempts per Attempt.Player

	// RefusalsPerAddress counts the refused attempts per address. While its tokens are used up, known
	// secrets work only for players with a token of PerPlayer: they cannot be found by trying.
	RefusalsPerAddress *Rule

	turns *lru.Cache[Key, *turn] // by address
}

// Attempt is an attempt to use a secret, such as a join code.
type Attempt struct {
	Address, Player Key // the player is the zero Key if unknown
	Secret          string
}

// turn lets one attempt of an address run at a time.
type turn struct {
	*semaphore.Weighted
	right string // the newest right secret; the running attempt owns it
}

const maxAttemptWait = time.Second // for the address's other attempts to end

// NewFailureLimiter returns a limiter with these rules. Without PerAddress it allows all.
func NewFailureLimiter(rules FailureLimiter) *FailureLimiter {
	rules.turns, _ = lru.New[Key, *turn](defaultMaxKeys) // fails only for a size below 1
	return &rules
}

// Try calls try and returns its error, or refuses with a *protocol.Error of code
// rate_limited without calling it. The secret counts as wrong if try returns a
// *protocol.Error of code not_found or panics, and as right if try returns nil.
func (l *FailureLimiter) Try(ctx context.Context, attempt Attempt, try func() error) error {
	if l == nil || l.PerAddress == nil || l.mayUseKnown(ctx, attempt) && l.isKnown(ctx, attempt) {
		return try()
	}
	own := &turn{Weighted: semaphore.NewWeighted(1)}
	if earlier, ok, _ := l.turns.PeekOrAdd(attempt.Address, own); ok {
		own = earlier
	}
	waiting, cancel := context.WithTimeout(ctx, maxAttemptWait)
	defer cancel()
	wait := maxAttemptWait
	if own.Acquire(waiting, 1) == nil {
		var charges map[*Rule]Key
		if charges, wait = l.findTokens(ctx, attempt, own.right); len(charges) > 0 {
			defer own.Release(1)
			return l.charge(ctx, attempt, own, charges, try)
		}
		own.Release(1)
	}
	if err := l.PerAddress.refuse(wait); err != nil {
		return err
	}
	return try()
}

// charge makes an attempt, and charges rules for it if the secret is wrong.
func (l *FailureLimiter) charge(ctx context.Context, attempt Attempt, own *turn, charges map[*Rule]Key, try func() error) error {
	defer func() { // also after a panic
		for rule, key := range charges {
			rule.Charge(context.WithoutCancel(ctx), key, 1)
		}
	}()
	err := try()
	if protocol.Outcome(err, "right") != string(protocol.CodeNotFound) {
		clear(charges)
	}
	if err == nil && l.AddSecret(ctx, attempt) == nil {
		own.right = attempt.Secret
	}
	return err
}

// findTokens returns the rules and keys whose tokens a wrong secret takes, none for the newest right
// secret, or how long to wait. If only PlayersPerAddress refuses, the attempt counts for the player.
func (l *FailureLimiter) findTokens(ctx context.Context, attempt Attempt, right string) (charges map[*Rule]Key, wait time.Duration) {
	if right != "" && attempt.Secret == right && l.mayUseKnown(ctx, attempt) {
		return nil, 0
	}
	if wait = l.PerAddress.tokenWait(ctx, attempt.Address); wait == 0 {
		return map[*Rule]Key{l.PerAddress: attempt.Address}, 0
	}
	_ = l.RefusalsPerAddress.Take(ctx, attempt.Address, 1) // counts this refusal
	if attempt.Player == (Key{}) || l.PlayersPerAddress == nil || l.PerPlayer == nil {
		return nil, wait
	}
	playerWait := l.PerPlayer.tokenWait(ctx, attempt.Player)
	if playerWait == 0 {
		if playerWait = l.PlayersPerAddress.tokenWait(ctx, attempt.Address); playerWait == 0 {
			return map[*Rule]Key{l.PerPlayer: attempt.Player, l.PlayersPerAddress: attempt.Address}, 0
		}
		l.PerPlayer.Charge(ctx, attempt.Player, 1)
	}
	return nil, min(wait, playerWait)
}

// mayUseKnown returns true if the client has not been refused too often to use a known secret.
func (l *FailureLimiter) mayUseKnown(ctx context.Context, attempt Attempt) bool {
	return l.RefusalsPerAddress.tokenWait(ctx, attempt.Address) == 0 ||
		attempt.Player != (Key{}) && l.PerPlayer.tokenWait(ctx, attempt.Player) == 0
}

// isKnown returns true if the shared store has an attempt's secret for its address.
func (l *FailureLimiter) isKnown(ctx context.Context, attempt Attempt) (known bool) {
	_ = l.PerAddress.callStore(ctx, func(ctx context.Context, store Store) (err error) {
		known, err = store.HasSecret(ctx, l.PerAddress.config.Name, attempt.Address.String(), attempt.Secret)
		return err
	})
	return known
}

// AddSecret makes a secret known that the server has given to a client at its address. If it returns
// an error, the next right attempt stores the secret.
func (l *FailureLimiter) AddSecret(ctx context.Context, attempt Attempt) error {
	if l == nil || l.PerAddress == nil {
		return nil
	}
	return l.PerAddress.callStore(context.WithoutCancel(ctx), func(ctx context.Context, store Store) error {
		return store.AddSecret(ctx, l.PerAddress.config.Name, attempt.Address.String(), attempt.Secret)
	})
}
