package ws

import (
	"context"

	"laststand/internal/limit"
)

// Limits are the limits of a node's connections and hellos. The zero value limits only
// Config.Connections. Each Cap counts a refusal and says whether it is enforced. A nil
// Cap enforces and does not count.
type Limits struct {
	PerAddress int64 // websockets of one address, 0 for any number

	TotalCap        *limit.Cap // refuses beyond Connections, and in the last places players in no match
	AddressCap      *limit.Cap // refuses beyond PerAddress, and beyond the address's share players in no match
	PendingHelloCap *limit.Cap // evicts a session without a hello for a new one
	IdleCap         *limit.Cap // evicts an idle session while places are low
	MessageCap      *limit.Cap // refuses a message that the session's bucket does not hold

	CodeAttempts *limit.FailureLimiter // of arenas; nil for any number
	Hellos       *limit.Rule           // of an address; nil for any number
	HellosInAll  *limit.Rule           // of the node; nil for any number
	Replays      *limit.Rule           // KiB of long replays of an address, counted by this node alone; nil for any number

	EarlyForfeits *limit.ActionLimit // duels that a player leaves before a question was closed; nil for any number
	Matches       *limit.ActionLimit // duels and arenas that a player has joined; nil for any number
}

// checkJoin refuses a player who may join no more matches for now.
func (l *Limits) checkJoin(player, from limit.Key) error {
	return l.Matches.Check(player, from)
}

// checkDuelJoin is checkJoin for a duel.
func (l *Limits) checkDuelJoin(player, from limit.Key) error {
	if err := l.EarlyForfeits.Check(player, from); err != nil {
		return err
	}
	return l.checkJoin(player, from)
}

// countMatchThen returns a function that counts a match that the player has joined, and
// then runs then. The match counts when it is joined and not when it begins, so that it
// also counts for players who disconnect before.
func (se *session) countMatchThen(then func()) func() {
	return func() {
		se.countAction(se.server.Limits.Matches)
		then()
	}
}

// countAction counts an action of the session's player.
func (se *session) countAction(d *limit.ActionLimit) {
	ctx, cancel := context.WithTimeout(context.Background(), se.server.callWithin)
	defer cancel()
	d.Count(ctx, limit.Named(se.game, se.player), se.addressKey())
}

// Hellos of players in a match have their own bucket: a flood of other hellos cannot
// lock them out.
var (
	newHelloKey     = limit.Named("", "new")
	resumedHelloKey = limit.Named("", "resume")
)

// checkHello takes a hello from the address's bucket before the token is read, or
// returns a *protocol.Error. A new hello is also taken from the node's bucket. A resume
// is not: whether the player is in a match is not known yet.
func (l *Limits) checkHello(ctx context.Context, from limit.Key, resumes bool) error {
	if err := l.Hellos.Take(ctx, from, 1); err != nil || resumes {
		return err
	}
	return l.HellosInAll.Take(ctx, newHelloKey, 1)
}

// checkResume takes a resume from the node's bucket, after the token was read.
func (l *Limits) checkResume(ctx context.Context, playing bool) error {
	if playing {
		return l.HellosInAll.Take(ctx, resumedHelloKey, 1)
	}
	return l.HellosInAll.Take(ctx, newHelloKey, 1)
}

// chargeForgedResume charges a resume with an invalid token to new hellos. It never
// leaves the bucket negative, so that a flood of them leaves room for new hellos.
func (l *Limits) chargeForgedResume(ctx context.Context) {
	l.HellosInAll.TakeIfAvailable(ctx, newHelloKey)
}
