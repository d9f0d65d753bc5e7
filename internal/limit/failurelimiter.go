package limit

import (
	"context"
	"errors"
	"time"

	"laststand/internal/protocol"
)

// FailureLimiter bounds how many wrong secrets a client may try. The bound is exact,
// however many attempts are made at once: each attempt reserves a token. The token is
// returned if the secret is right, or if the attempt fails for another reason. While
// all tokens are reserved, an attempt waits for one, at most a second.
//
// A secret that was right for an address before needs no token there. So an attacker
// behind the address of a school does not lock out its players. The attacker must not
// find out known secrets by trying either, see Refused. A nil *FailureLimiter and one
// with a nil PerAddress allow all. It is safe for concurrent use.
type FailureLimiter struct {
	PerAddress *Rule // wrong attempts of an address; its refusals are the limiter's

	// When PerAddress is used up, attempts with a Player still get tokens of these two
	// rules, a few each. So a player with the right secret competes with the attacker's
	// players and not with all the attacker's attempts.
	ByPlayers *Rule // of an address; nil: no such attempts
	PerPlayer *Rule // of an Attempt.Player; nil: no such attempts

	// Refused counts the refused attempts of an address. When it is used up, known
	// secrets work only for players with tokens of PerPlayer left. A refusal takes such
	// a token too.
	Refused *Rule
}

// Attempt is an attempt to use a secret.
type Attempt struct {
	Address Key
	Player  Key // the zero Key if the player is unknown
	Secret  string
}

// RetrySoon is the wait for reserved tokens, which may be returned at any time. No
// other wait has this value.
const RetrySoon time.Duration = 1

// MaxSecrets is how many known secrets a key has, the newest.
const MaxSecrets = 64

// Try calls try, or refuses with a *protocol.Error of code rate_limited. The secret is
// wrong if try returns a *protocol.Error of code not_found, and right if try returns
// nil.
func (l *FailureLimiter) Try(ctx context.Context, a Attempt, try func() error) error {
	if l == nil || l.PerAddress == nil {
		return try()
	}
	reserved, err := l.reserve(ctx, a)
	if err != nil {
		return err
	}
	isSpent := true // also after a panic
	defer func() { reserved.finish(ctx, isSpent) }()
	err = try()
	refusal, ok := errors.AsType[*protocol.Error](err)
	isSpent = ok && refusal.Code == protocol.CodeNotFound
	if err == nil {
		l.PerAddress.addSecret(ctx, a)
	}
	return err
}

// AddSecret notes that a secret is right and that the address has received it.
func (l *FailureLimiter) AddSecret(ctx context.Context, a Attempt) {
	if l != nil && l.PerAddress != nil {
		l.PerAddress.addSecret(ctx, a)
	}
}

// reserve reserves a token for an attempt. It reserves none for a known secret.
func (l *FailureLimiter) reserve(ctx context.Context, a Attempt) (reservations, error) {
	isKnown := func() bool { return l.PerAddress.knowsSecret(a) && l.canUseSecret(ctx, a) }
	if isKnown() {
		return nil, nil
	}
	reserved, wait := l.PerAddress.reserve(ctx, a.Address, isKnown)
	if wait <= 0 || l.PerAddress.fetchSecret(ctx, a) && l.canUseSecret(ctx, a) {
		return reserved, nil
	}
	l.Refused.TakeIfAvailable(ctx, a.Address)
	if a.Player != (Key{}) && l.ByPlayers != nil && l.PerPlayer != nil {
		var playerWait time.Duration
		if reserved, playerWait = l.reserveAsPlayer(ctx, a, isKnown); playerWait <= 0 {
			return reserved, nil
		}
		wait = min(wait, playerWait)
	}
	return nil, l.PerAddress.refuse(wait)
}

// canUseSecret returns true if the client may learn that a secret is known to be right.
func (l *FailureLimiter) canUseSecret(ctx context.Context, a Attempt) bool {
	return l.Refused.hasToken(ctx, a.Address) || a.Player != (Key{}) && l.PerPlayer.hasToken(ctx, a.Player)
}

// reserveAsPlayer reserves a token of the player and one of the address. If the address
// has none, the player's token is spent.
func (l *FailureLimiter) reserveAsPlayer(ctx context.Context, a Attempt, isKnown func() bool) (reservations, time.Duration) {
	own, wait := l.PerPlayer.reserve(ctx, a.Player, isKnown)
	if wait > 0 || own == nil {
		return nil, wait
	}
	all, wait := l.ByPlayers.reserve(ctx, a.Address, isKnown)
	if wait > 0 {
		own.finish(ctx, true)
		return nil, wait
	}
	l.ByPlayers.counters.allowed.Inc()
	return append(own, all...), 0
}
