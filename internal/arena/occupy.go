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
	for staleID := ""; ; {
		otherID, isTicket, err := s.Activities.Occupy(ctx, r.Game, r.Player, id, staleID)
		if err != nil || otherID == "" {
			return err
		}
		if isTicket {
			return newRefusal(protocol.CodeAlreadyQueued, "you wait for an opponent; send duel.leave to stop waiting")
		}
		isStale, err := s.isStale(ctx, otherID, r.Player)
		if err != nil {
			return err
		}
		if !isStale || otherID == staleID {
			return alreadyPlayingError(otherID)
		}
		staleID = otherID
	}
}

// isStale reports whether a recorded match does not count any more: it is over or
// does not exist, or it has no seat for the player.
func (s *Service) isStale(ctx context.Context, id, player string) (bool, error) {
	err := s.Matches.CheckSeat(ctx, id, player)
	view := match.View{}
	if err == nil {
		view, err = s.Matches.ReadArena(ctx, id)
	}
	if errors.Is(err, match.ErrNotFound) {
		return true, nil
	}
	return err == nil && publicState(view.Phase) == stateOver, err
}

func alreadyPlayingError(id string) error {
	err := protocol.Errorf(protocol.CodeAlreadyPlaying, "you are in another match; send match.leave to forfeit it, or arena.leave to leave an arena")
	err.Match = id
	return err
}
