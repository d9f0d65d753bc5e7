package ws

import (
	"context"

	"laststand/internal/limit"
)

// MatchBegun counts a match that has begun for those of its players that have a
// session here.
func (s *Server) MatchBegun(game string, players []string) {
	from := make(map[limit.Key][]limit.Key)
	for _, player := range players {
		if se := s.find(game, player); se != nil {
			from[se.from()] = append(from[se.from()], limit.Named(game, player))
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.callWithin)
	defer cancel()
	for address, some := range from {
		s.Limits.Matches.Count(ctx, address, some...)
	}
}
