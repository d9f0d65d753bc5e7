package arena

import (
	"context"
	"errors"

	"laststand/internal/match"
	"laststand/internal/protocol"
)

// occupy records that a player is in a match and in nothing else. A match that
// no longer has the player does not count, unless it does not exist yet.
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

// isStale reports whether a recorded match no longer has the player: it is
// over, or it has no seat for the player.
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
