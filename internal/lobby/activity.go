package lobby

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"laststand/internal/match"
	"laststand/internal/protocol"
)

// activities reads and changes what each player is in.
type activities struct {
	Config
	settled sync.Map // by match id: a chan struct{} that this node closes when it settles the match, for the joins that wait for it
}

// Occupy records that a player is in a match that needs no ticket. It refuses a player
// who has a ticket or is in another match. A recorded match that is over or no longer has
// the player does not count: the second call of the store replaces it. A match that does
// not exist yet counts, so the store reports it again. It implements arena.Activities.
func (a *activities) Occupy(ctx context.Context, game, player, id string) error {
	for former := ""; ; {
		activity, err := a.Activities.Occupy(ctx, OccupyRequest{Game: game, Player: player, Match: id, Former: former}, a.Now())
		if err != nil || activity.Ticket == "" && activity.Match == "" {
			return err
		}
		if activity.Ticket != "" || activity.Match == former {
			return busyError(activity)
		}
		if _, hasSeat, err := a.statusWithSeat(ctx, activity.Match, player); err != nil || hasSeat {
			return cmp.Or(err, busyError(activity))
		}
		former = activity.Match
	}
}

// Free records that a player is no longer in a match. It implements
// arena.Activities.
func (a *activities) Free(ctx context.Context, game, player, id string) error {
	return a.Activities.Free(ctx, game, []PlayerMatch{{player, id}})
}

// ReleaseErasedPlayer removes an erased player from the current match and from the last duel,
// which may be another match. A duel that ended early has no result to settle, so
// only this call removes the player from it.
func (a *activities) ReleaseErasedPlayer(ctx context.Context, game, player string) error {
	activity, err := a.Activities.ReadActivity(ctx, game, player)
	for _, id := range []string{activity.Match, activity.Duel} {
		if err == nil && id != "" {
			err = a.Free(ctx, game, player, id)
		}
	}
	return err
}

// RunningMatch returns the running match that a player is in, or nil.
func (a *activities) RunningMatch(ctx context.Context, game, player string) (*protocol.Playing, error) {
	playing, _, err := a.ReadOnConnect(ctx, game, player)
	return playing, err
}

// ReadOnConnect returns the running match of a player whose session has just
// connected, nil for none. It also returns the id of the player's newest match that
// existed before, "" if unknown. The client knows that match or gets it by
// match.sync, so the server must not announce it again.
func (a *activities) ReadOnConnect(ctx context.Context, game, player string) (playing *protocol.Playing, newestKnown string, err error) {
	activity, err := a.Activities.ReadActivity(ctx, game, player)
	if err != nil || activity.Match == "" {
		return nil, "", err
	}
	status, hasSeat, err := a.statusWithSeat(ctx, activity.Match, player)
	switch {
	case err != nil:
		return nil, "", err
	case hasSeat:
		return &protocol.Playing{Match: activity.Match, Seq: status.Seq, ArenaID: status.ArenaID}, activity.Match, nil
	case activity.Forming && status.Seq == 0: // it does not exist yet
		return nil, "", nil
	}
	return nil, activity.Match, nil
}

// statusWithSeat returns the status of a player's match. It also reports whether the
// match is running and has a seat for the player. If a running match has no such
// seat, a node died before it added the seat, or after it removed the seat and
// before it freed the player.
func (a *activities) statusWithSeat(ctx context.Context, id, player string) (match.Status, bool, error) {
	status, err := a.Statuses.Status(ctx, id)
	if err != nil || !status.Running {
		return status, false, err
	}
	err = a.Statuses.CheckSeat(ctx, id, player)
	if errors.Is(err, match.ErrNotFound) {
		return status, false, nil
	}
	return status, err == nil, err
}

// readFormerActivity returns the player's recorded activity if it does not prevent a new
// ticket: a match that no longer has the player. Otherwise it returns an error. The
// player's rating must be read after the last result is committed. So readFormerActivity
// waits up to maxSettleWait for that.
func (a *activities) readFormerActivity(ctx context.Context, game, player string) (Activity, error) {
	activity, err := a.Activities.ReadActivity(ctx, game, player)
	if err != nil || activity.Ticket != "" {
		return Activity{}, err
	}
	if activity.Forming {
		return Activity{}, busyError(activity)
	}
	if activity.Match != "" {
		if _, hasSeat, err := a.statusWithSeat(ctx, activity.Match, player); err != nil || hasSeat {
			return Activity{}, cmp.Or(err, busyError(activity))
		}
	}
	deadline := time.Now().Add(maxSettleWait)
	for _, id := range activity.lastMatches() {
		if err := a.awaitSettled(ctx, id, deadline); err != nil {
			return Activity{}, err
		}
	}
	return Activity{Match: activity.Match}, nil
}

// IsUnsettled reports whether a player's current match or last duel is over and its
// result is not committed to the ledger yet.
func (a *activities) IsUnsettled(ctx context.Context, game, player string) (bool, error) {
	activity, err := a.Activities.ReadActivity(ctx, game, player)
	if err != nil {
		return false, err
	}
	for _, id := range activity.lastMatches() {
		if isUnsettled, err := a.Statuses.IsUnsettled(ctx, id); err != nil || isUnsettled {
			return isUnsettled, err
		}
	}
	return false, nil
}

// busyError returns the refusal for a player who has a ticket or is in a match.
func busyError(activity Activity) error {
	if activity.Ticket != "" {
		return protocol.Errorf(protocol.CodeAlreadyQueued, "you already wait for an opponent; send duel.leave to stop waiting")
	}
	err := protocol.Errorf(protocol.CodeAlreadyPlaying, "you are in a match; send match.leave to forfeit it, or arena.leave to leave an arena")
	err.Match = activity.Match
	return err
}
