package limit

import (
	"context"
	"errors"
	"time"

	"laststand/internal/protocol"
)

// FailureLimiter limits how many wrong secrets, such as join codes, a client may try. Each
// attempt first reserves a token. So the limit is exact, even if many attempts run at the
// same time. The limiter returns the token if the secret is right, or if the attempt fails
// for another reason. While all tokens are reserved, an attempt waits for one, at most a
// second.
//
// An address may use a secret that was right for it before without a token. So an attacker
// behind the address of a school does not lock out the school's players.
// RefusalsPerAddress keeps the attacker from finding such secrets by trying. A nil
// *FailureLimiter and one with a nil PerAddress allow all. It is safe for concurrent use.
type FailureLimiter struct {
	PerAddress *Rule // wrong attempts per address; the limiter's errors name this rule's limit

	// When PerAddress has no token left, an attempt with a known Player may still take a
	// token of both of these rules. Each player has only a few of them. So a player with
	// the right secret competes with the attacker's players and not with all the
	// attacker's attempts. If one of the rules is nil, no such attempt is allowed.
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

// RetrySoon is returned instead of a wait when all tokens are reserved and may be returned
// at any time. No real wait has this value.
const RetrySoon time.Duration = 1

// MaxSecretsPerKey is how many known secrets of a key are stored: the newest ones.
const MaxSecretsPerKey = 64

// Try calls try and returns its error, or refuses with a *protocol.Error of code
// rate_limited without calling it. The secret counts as wrong if try returns a
// *protocol.Error of code not_found, and as right if try returns nil.
func (l *FailureLimiter) Try(ctx context.Context, attempt Attempt, try func() error) error {
	if l == nil || l.PerAddress == nil {
		return try()
	}
	reservations, err := l.reserve(ctx, attempt)
	if err != nil {
		return err
	}
	isSpent := true // also after a panic
	defer func() { reservations.finish(ctx, isSpent) }()
	err = try()
	refusal, ok := errors.AsType[*protocol.Error](err)
	isSpent = ok && refusal.Code == protocol.CodeNotFound
	if err == nil {
		l.PerAddress.addSecret(ctx, attempt)
	}
	return err
}

// AddSecret makes a secret a known one of the attempt's address. The caller calls it when
// the server has given the secret to a client at that address.
func (l *FailureLimiter) AddSecret(ctx context.Context, attempt Attempt) {
	if l != nil && l.PerAddress != nil {
		l.PerAddress.addSecret(ctx, attempt)
	}
}

// reserve reserves tokens for an attempt, or returns the refusal. It reserves none for a
// known secret.
func (l *FailureLimiter) reserve(ctx context.Context, attempt Attempt) (reservations, error) {
	isKnown := func() bool { return l.PerAddress.knowsSecret(attempt) && l.mayUseKnownSecret(ctx, attempt) }
	if isKnown() {
		return nil, nil
	}
	reserved, wait := l.PerAddress.reserve(ctx, attempt.Address, isKnown)
	if wait <= 0 || l.PerAddress.fetchSecret(ctx, attempt) && l.mayUseKnownSecret(ctx, attempt) {
		return reserved, nil
	}
	l.RefusalsPerAddress.TakeIfAvailable(ctx, attempt.Address)
	if attempt.Player != (Key{}) && l.PlayersPerAddress != nil && l.PerPlayer != nil {
		var playerWait time.Duration
		if reserved, playerWait = l.reserveAsPlayer(ctx, attempt, isKnown); playerWait <= 0 {
			return reserved, nil
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

// reserveAsPlayer reserves a token of PerPlayer and one of PlayersPerAddress. It returns
// how long to wait if one of them is missing. If only the second is missing, the player's
// token is spent.
func (l *FailureLimiter) reserveAsPlayer(ctx context.Context, attempt Attempt, isKnown func() bool) (reservations, time.Duration) {
	playerToken, wait := l.PerPlayer.reserve(ctx, attempt.Player, isKnown)
	if wait > 0 || playerToken == nil {
		return nil, wait
	}
	addressToken, wait := l.PlayersPerAddress.reserve(ctx, attempt.Address, isKnown)
	if wait > 0 {
		playerToken.finish(ctx, true)
		return nil, wait
	}
	l.PlayersPerAddress.counters.allowed.Inc()
	return append(playerToken, addressToken...), 0
}
