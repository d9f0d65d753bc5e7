package arena

import (
	"context"

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
