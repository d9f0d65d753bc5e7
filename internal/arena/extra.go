package arena

import (
	"context"
	"slices"

	"laststand/internal/identity"
	"laststand/internal/match"
	"laststand/internal/protocol"
)

// Extend gives a player extra time on request of the host, in the lobby, or takes it away.
// It returns all players of the arena with extra time. Only the host learns of them.
func (s *Service) Extend(ctx context.Context, game, host string, extend protocol.ArenaExtend) (protocol.ArenaExtended, error) {
	view, err := s.readAsHost(ctx, game, host, extend.ArenaID)
	if err != nil {
		return protocol.ArenaExtended{}, err
	}
	if err := checkExtend(view.Plan, extend); err != nil {
		return protocol.ArenaExtended{}, err
	}
	player := extend.Player
	if player == "" {
		if player, err = s.Players.FindNamed(ctx, game, extend.Nickname); err != nil {
			return protocol.ArenaExtended{}, err
		}
	}
	reply := PlaceReply{Verdict: VerdictOut}
	if player != "" {
		if reply, err = s.Seats.SetExtra(ctx, view.Plan.ID, player, extend.Percent); err != nil {
			return protocol.ArenaExtended{}, err
		}
	}
	if err := checkExtended(reply.Verdict); err != nil {
		return protocol.ArenaExtended{}, err
	}
	if view, err = s.readByID(ctx, game, extend.ArenaID); err != nil {
		return protocol.ArenaExtended{}, err
	}
	return protocol.ArenaExtended{Extra: extraViews(view)}, nil
}

// checkExtend refuses an invalid request for extra time.
func checkExtend(plan *match.Plan, extend protocol.ArenaExtend) error {
	switch {
	case plan.Mode == match.Buzzer:
		return badRequestError("mode buzzer has no extra time, because the first right answer closes the question; use race or survival")
	case !slices.Contains(match.ExtraPercents, extend.Percent):
		return badRequestError("percent %d is invalid; use 0, 25, 50 or 100", extend.Percent)
	case (extend.Player == "") == (extend.Nickname == ""):
		return badRequestError("give either player or nickname")
	case extend.Player != "" && !identity.ValidID(extend.Player):
		return badRequestError("player is invalid; use the id of a player in the arena")
	}
	return nil
}

// checkExtended returns the refusal for a verdict of SetExtra other than VerdictIn.
func checkExtended(verdict Verdict) error {
	switch verdict {
	case VerdictIn:
		return nil
	case VerdictOut:
		return protocol.Errorf(protocol.CodeNotFound, "no such player has a seat in this arena; check the name").Because(protocol.ReasonNotSeated)
	case VerdictStarted:
		return protocol.Errorf(protocol.CodeArenaStarted, "the match has started; extra time can be set only in the lobby").Because(protocol.ReasonTooLateForExtra)
	case VerdictFull:
		return badRequestError("%d players of this arena have extra time, which is the maximum; take it from another one first", match.MaxExtraSeats).Because(protocol.ReasonTooManyExtra)
	}
	return notFoundError()
}

// extraViews lists the players with extra time for the host.
func extraViews(view match.View) []protocol.ExtraTime {
	extra := make([]protocol.ExtraTime, len(view.Extra))
	for i, e := range view.Extra {
		extra[i] = protocol.ExtraTime(e)
	}
	return extra
}
