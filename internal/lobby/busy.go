package lobby

import (
	"context"
	"errors"
	"time"

	"laststand/internal/match"
	"laststand/internal/protocol"
)

// Occupy makes a player busy with a match that takes no ticket, unless busy
// with anything but former; then it tells with what ("" where it succeeded):
// the id of a match, or of a ticket where ticket is set. It implements
// arena.Busy.
func (l *Lobby) Occupy(ctx context.Context, game, player, id, former string) (with string, ticket bool, err error) {
	busy, err := l.Store.Occupy(ctx, Occupation{Game: game, Player: player, Match: id, Former: former}, l.Now())
	if busy.Ticket != "" {
		return busy.Ticket, true, err
	}
	return busy.Match, false, err
}

// Free ends a player's being busy with a match. It implements arena.Busy.
func (l *Lobby) Free(ctx context.Context, game, player, id string) error {
	return l.Store.Free(ctx, game, player, id)
}

// Playing says which running match a player is in; nil where there is none.
func (l *Lobby) Playing(ctx context.Context, game, player string) (*protocol.Playing, error) {
	playing, _, err := l.Came(ctx, game, player)
	return playing, err
}

// Came says what a player is in whose session has just come: the running match,
// nil where there is none, and the newest match that was created before, over or
// not, "" where none is known. The player is told of that one already, or will be
// by match.sync: it must not be found once more.
func (l *Lobby) Came(ctx context.Context, game, player string) (playing *protocol.Playing, before string, err error) {
	busy, err := l.Store.Where(ctx, game, player)
	if err != nil || busy.Match == "" {
		return nil, "", err
	}
	running, held, err := l.holds(ctx, busy.Match, player)
	switch {
	case err != nil:
		return nil, "", err
	case held:
		return &protocol.Playing{Match: busy.Match, Seq: running.Seq, ArenaID: running.ArenaID}, busy.Match, nil
	case busy.Forming && running.Seq == 0: // it is still to be created
		return nil, "", nil
	}
	return nil, busy.Match, nil
}

// holds says whether the match that a player is busy with is not over and has a
// seat for the player. One without is what a node has left that died before the
// player sat down, or after the seat was taken away.
func (l *Lobby) holds(ctx context.Context, id, player string) (match.Status, bool, error) {
	running, err := l.Matches.Status(ctx, id)
	if err != nil || !running.Running {
		return running, false, err
	}
	err = l.Matches.CheckSeat(ctx, id, player)
	if errors.Is(err, match.ErrNotFound) {
		return running, false, nil
	}
	return running, err == nil, err
}

// former is what the player may be busy with and yet join: a match that does
// not hold the player any more. A rating is read only after its result is
// committed, for which some time is waited.
func (l *Lobby) former(ctx context.Context, r Request) (Busy, error) {
	until := time.Now().Add(settleWait)
	for {
		busy, err := l.Store.Where(ctx, r.Game, r.Player)
		if err != nil || busy.Ticket != "" {
			return Busy{}, err
		}
		if busy.Forming {
			return Busy{}, alreadyBusy(busy)
		}
		if busy.Match != "" {
			if _, held, err := l.holds(ctx, busy.Match, r.Player); err != nil || held {
				return Busy{}, either(err, alreadyBusy(busy))
			}
		}
		if unsettled, err := l.unsettled(ctx, busy); err != nil || !unsettled {
			return Busy{Match: busy.Match}, err
		}
		if time.Now().After(until) {
			return Busy{}, protocol.RetryAfter(protocol.CodeUnavailable, 1000, "your last match is still being settled; try again in a second")
		}
		select {
		case <-ctx.Done():
			return Busy{}, ctx.Err()
		case <-time.After(settlePoll):
		}
	}
}

// unsettled says whether the match that a player is busy with, or the player's last
// duel, is over and its result not committed yet.
func (l *Lobby) unsettled(ctx context.Context, busy Busy) (bool, error) {
	if busy.Match != "" {
		if unsettled, err := l.Matches.IsUnsettled(ctx, busy.Match); err != nil || unsettled {
			return unsettled, err
		}
	}
	if busy.Duel == "" || busy.Duel == busy.Match {
		return false, nil
	}
	return l.Matches.IsUnsettled(ctx, busy.Duel)
}

// IsUnsettled says whether a result of a player's last match, or last duel, still
// waits for the ledger.
func (l *Lobby) IsUnsettled(ctx context.Context, game, player string) (bool, error) {
	busy, err := l.Store.Where(ctx, game, player)
	if err != nil {
		return false, err
	}
	return l.unsettled(ctx, busy)
}

func alreadyBusy(with Busy) error {
	if with.Ticket != "" {
		return refused(protocol.CodeAlreadyQueued, "you wait for an opponent already; duel.leave takes that back")
	}
	err := protocol.Errorf(protocol.CodeAlreadyPlaying, "you are in a match; match.leave forfeits it, arena.leave ends your seat in an arena")
	err.Match = with.Match
	return err
}

func either(err, other error) error {
	if err != nil {
		return err
	}
	return other
}
