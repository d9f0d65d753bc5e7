package arena

import (
	"context"
	"errors"

	"laststand/internal/match"
	"laststand/internal/protocol"
)

// occupy records that a player is in a match. It refuses a player who waits for a
// duel or is in another match. A stale match does not count: the loop replaces it.
// A match that does not exist yet counts, so if it is reported again, occupy
// refuses.
func (s *Service) occupy(ctx context.Context, r JoinRequest, id string) error {
	for former := ""; ; {
		with, ticket, err := s.Activities.Occupy(ctx, r.Game, r.Player, id, former)
		if err != nil || with == "" {
			return err
		}
		if ticket {
			return newRefusal(protocol.CodeAlreadyQueued, "you wait for an opponent; send duel.leave to stop waiting")
		}
		stale, err := s.isStale(ctx, with, r.Player)
		if err != nil {
			return err
		}
		if !stale || with == former {
			return alreadyPlaying(with)
		}
		former = with
	}
}

// isStale reports whether a recorded match does not count any more: it is over or
// does not exist, or it has no seat for the player.
func (s *Service) isStale(ctx context.Context, id, player string) (bool, error) {
	err := s.Matches.CheckSeat(ctx, id, player)
	v := match.View{}
	if err == nil {
		v, err = s.Matches.ReadArena(ctx, id)
	}
	if errors.Is(err, match.ErrNotFound) {
		return true, nil
	}
	return err == nil && publicState(v.Phase) == stateOver, err
}

func alreadyPlaying(id string) error {
	err := protocol.Errorf(protocol.CodeAlreadyPlaying, "you are in another match; send match.leave to forfeit it, or arena.leave to leave an arena")
	err.Match = id
	return err
}
