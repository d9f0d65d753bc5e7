package arena

import (
	"context"

	"laststand/internal/protocol"
)

// JoinInfo has the values of an arena that the server needs before a person joins.
type JoinInfo struct {
	ID         string
	MaxPlayers int
	IsOver     bool
}

// FindJoinInfo returns the join info of the arena with a code.
func (s *Service) FindJoinInfo(ctx context.Context, game, code string) (JoinInfo, error) {
	view, err := s.readByCode(ctx, game, code)
	if err != nil {
		return JoinInfo{}, err
	}
	return JoinInfo{ID: view.Plan.Arena.ID, MaxPlayers: view.Plan.Arena.MaxPlayers, IsOver: publicState(view.Phase) == stateOver}, nil
}

// Show describes an arena to a person who has its code.
func (s *Service) Show(ctx context.Context, game, code string) (protocol.ArenaLook, error) {
	view, err := s.readByCode(ctx, game, code)
	if err != nil {
		return protocol.ArenaLook{}, err
	}
	a := view.Plan.Arena
	var lateJoin string
	if a.LateJoin {
		lateJoin = lateJoinZero
	}
	return protocol.ArenaLook{
		ArenaID: a.ID, Name: a.Name, Mode: string(view.Plan.Mode), State: publicState(view.Phase),
		Teams: view.TeamCounts(a), Players: view.Players, LateJoin: lateJoin,
	}, nil
}
