package arena

import (
	"context"

	"laststand/internal/protocol"
)

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
