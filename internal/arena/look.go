package arena

import (
	"context"

	"laststand/internal/protocol"
)

// Door is what is to be known of an arena to let somebody come to it.
type Door struct {
	ID         string
	MaxPlayers int
	Over       bool
}

// Door finds the arena that a code leads to.
func (s *Service) Door(ctx context.Context, game, code string) (Door, error) {
	v, err := s.byCode(ctx, game, code)
	if err != nil {
		return Door{}, err
	}
	return Door{ID: v.Plan.Arena.ID, MaxPlayers: v.Plan.Arena.MaxPlayers, Over: state(v.Phase) == over}, nil
}

// Look shows an arena to whoever has its code.
func (s *Service) Look(ctx context.Context, game, code string) (protocol.ArenaLook, error) {
	v, err := s.byCode(ctx, game, code)
	if err != nil {
		return protocol.ArenaLook{}, err
	}
	a := v.Plan.Arena
	return protocol.ArenaLook{
		ArenaID: a.ID, Name: a.Name, Mode: string(v.Plan.Mode), State: state(v.Phase),
		Teams: v.TeamCounts(a), Players: v.Players,
	}, nil
}
