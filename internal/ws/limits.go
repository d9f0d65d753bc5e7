package ws

import (
	"context"

	"laststand/internal/limit"
)

// Limits are what a node bears of connections and hellos. The zero value bears
// all but more than Config.Connections. Each Cap is told of what is refused, and
// says whether that stands; nil does, uncounted.
type Limits struct {
	PerAddress int64 // websockets of one address; 0: any number

	Full     *limit.Cap // Connections are there, or this one has one of the last places and is in no match
	Crowded  *limit.Cap // PerAddress are there of its address, or its share of what is left, and this one is in no match
	Silent   *limit.Cap // one that has said no hello gives way to a newcomer
	Idle     *limit.Cap // one that does nothing is closed, since places are short
	Messages *limit.Cap // a session's bucket is empty

	Codes       *limit.Guesses // of arenas; nil: any number
	Hellos      *limit.Rule    // of an address; nil: any number
	HellosInAll *limit.Rule    // of the node; nil: any number
	Replays     *limit.Rule    // KiB of long replays of an address, at this node alone; nil: any number

	EarlyForfeits *limit.Deeds // duels that a player leaves before a question was closed; nil: any number
	Matches       *limit.Deeds // duels and arenas that a player has joined; nil: any number
}

// join refuses a player who may join no more matches for now.
func (l *Limits) join(player, from limit.Key) error {
	return l.Matches.Refuse(player, from)
}

// joinDuel is join of a duel.
func (l *Limits) joinDuel(player, from limit.Key) error {
	if err := l.EarlyForfeits.Refuse(player, from); err != nil {
		return err
	}
	return l.join(player, from)
}

// countMatchThen counts a match that the player has just joined, and then does the
// rest. It is counted here and not when the match begins, so that it counts for
// those too who have gone before that.
func (se *session) countMatchThen(then func()) func() {
	return func() {
		se.count(se.server.Limits.Matches)
		then()
	}
}

// count counts what the session's player has just done.
func (se *session) count(d *limit.Deeds) {
	ctx, cancel := context.WithTimeout(context.Background(), se.server.callWithin)
	defer cancel()
	d.Count(ctx, limit.Named(se.game, se.player), se.from())
}

// Those of players who are in a match are counted beside the others: a flood of
// these shuts none of them out.
var (
	newcomers = limit.Named("", "new")
	returning = limit.Named("", "resume")
)

// greet takes a hello of an address before its token is read, or refuses it with a
// *protocol.Error. Of one that would resume it is not known yet which it is.
func (l *Limits) greet(ctx context.Context, from limit.Key, resumes bool) error {
	if err := l.Hellos.Take(ctx, from, 1); err != nil || resumes {
		return err
	}
	return l.HellosInAll.Take(ctx, newcomers, 1)
}

// back takes one that would resume, now that its token was read.
func (l *Limits) back(ctx context.Context, playing bool) error {
	if playing {
		return l.HellosInAll.Take(ctx, returning, 1)
	}
	return l.HellosInAll.Take(ctx, newcomers, 1)
}

// forged takes one that would resume and is not known by its token, as any
// other such hello is taken: were it owed, a flood of them would leave newcomers nothing.
func (l *Limits) forged(ctx context.Context) { l.HellosInAll.Spend(ctx, newcomers) }
