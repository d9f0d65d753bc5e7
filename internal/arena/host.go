package arena

import (
	"context"
	"slices"

	"laststand/internal/identity"
	"laststand/internal/match"
	"laststand/internal/protocol"
)

// readAsHost reads an arena for its host and refuses it to others.
func (s *Service) readAsHost(ctx context.Context, game, host, arenaID string) (match.View, error) {
	view, err := s.readByID(ctx, game, arenaID)
	if err == nil && view.Plan.Arena.Host != host {
		return match.View{}, notHostError()
	}
	return view, err
}

func notHostError() error {
	return protocol.Errorf(protocol.CodeForbidden, "only the creator of the arena is its host")
}

// Start starts the match of an arena on request of the host. It does nothing if
// the match has started.
func (s *Service) Start(ctx context.Context, game, host, arenaID string) error {
	view, err := s.readAsHost(ctx, game, host, arenaID)
	if err != nil {
		return err
	}
	if view.Phase == match.PhaseLobby && view.Players == 0 {
		return badRequestError("the arena has no players; start it after players have joined")
	}
	return s.Commands.StartArena(ctx, view.Plan.ID)
}

// Lock refuses further players on request of the host. Spectators may still join.
func (s *Service) Lock(ctx context.Context, game, host, arenaID string) error {
	view, err := s.readAsHost(ctx, game, host, arenaID)
	if err != nil {
		return err
	}
	return s.Seats.LockLobby(ctx, view.Plan.ID)
}

// Next closes the open question or opens the next one, on request of the host of
// an arena with pace host. It does nothing if the match has done that already.
func (s *Service) Next(ctx context.Context, game, host string, n protocol.ArenaNext) error {
	view, err := s.readAsHost(ctx, game, host, n.ArenaID)
	if err != nil {
		return err
	}
	if !view.Plan.Arena.HostPaced {
		return badRequestError("this arena has pace auto; arena.next requires pace host")
	}
	if n.After < -1 || n.After >= len(view.Plan.Questions) {
		return badRequestError("after is out of range; use the number of the last question, 0 to %d, or -1 before the first", len(view.Plan.Questions)-1)
	}
	return s.Commands.Proceed(ctx, view.Plan.ID, n.After)
}

// Close ends an arena on request of the host. All sessions get a notice. If the
// arena is in its lobby, the match sends the notice, because a lobby may also end
// without a host.
func (s *Service) Close(ctx context.Context, game, host, arenaID string) error {
	view, err := s.readAsHost(ctx, game, host, arenaID)
	if err != nil {
		return err
	}
	if err := s.Commands.CloseArena(ctx, view.Plan.ID); err != nil {
		return err
	}
	if publicState(view.Phase) == statePlaying {
		s.Audience.Broadcast(ctx, view.Plan.ID, protocol.EncodePush(protocol.TypeArenaClosed, protocol.ArenaEnd{
			ArenaID: arenaID, Reason: string(match.ReasonClosed),
		}))
	}
	return s.Codes.RetireCode(ctx, game, view.Plan.Arena.Code)
}

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
