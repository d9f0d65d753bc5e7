package arena

import (
	"context"

	"laststand/internal/protocol"
)

// JoinInfo is what is to be known of an arena to let somebody come to it.
type JoinInfo struct {
	ID         string
	MaxPlayers int
	Over       bool
}

// FindJoinInfo finds the arena that a code leads to.
func (s *Service) FindJoinInfo(ctx context.Context, game, code string) (JoinInfo, error) {
	v, err := s.readByCode(ctx, game, code)
	if err != nil {
		return JoinInfo{}, err
	}
	return JoinInfo{ID: v.Plan.Arena.ID, MaxPlayers: v.Plan.Arena.MaxPlayers, Over: publicState(v.Phase) == stateOver}, nil
}

// Show shows an arena to whoever has its code.
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
