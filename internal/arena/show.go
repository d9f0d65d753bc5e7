package arena

import (
	"context"

	"laststand/internal/protocol"
)

// JoinInfo has the values of an arena that the server needs before a person joins.
type JoinInfo struct {
	ID         string
	MaxPlayers int
	Over       bool
}

// FindJoinInfo returns the join info of the arena with a code.
func (s *Service) FindJoinInfo(ctx context.Context, game, code string) (JoinInfo, error) {
	v, err := s.readByCode(ctx, game, code)
	if err != nil {
		return JoinInfo{}, err
	}
	return JoinInfo{ID: v.Plan.Arena.ID, MaxPlayers: v.Plan.Arena.MaxPlayers, Over: publicState(v.Phase) == stateOver}, nil
}

// Show describes an arena to a person who has its code.
func (s *Service) Show(ctx context.Context, game, code string) (protocol.ArenaLook, error) {
	v, err := s.readByCode(ctx, game, code)
	if err != nil {
		return protocol.ArenaLook{}, err
	}
	a := v.Plan.Arena
	return protocol.ArenaLook{
		ArenaID: a.ID, Name: a.Name, Mode: string(v.Plan.Mode), State: publicState(v.Phase),
		Teams: v.TeamCounts(a), Players: v.Players,
	}, nil
}
