package ws

import (
	"context"
	"slices"

	"laststand/internal/identity"
)

// maxFindPlayers limits the players of one call of FindPlayers.
const maxFindPlayers = 200

// FindPlayers returns those of some players of a game that exist, with their names.
type FindPlayers func(ctx context.Context, game string, players []string) (map[string]string, error)

// CloseUnknown closes the sessions of players that the ledger has lost, with 4401. It does not
// close those that it has not compared when find fails.
func (s *Server) CloseUnknown(ctx context.Context, find FindPlayers) error {
	byGame := map[string][]*session{}
	for _, se := range s.openSessions() {
		if se.greeted.Load() && se.claims.Role == identity.RolePlayer {
			byGame[se.game] = append(byGame[se.game], se)
		}
	}
	for game, sessions := range byGame {
		for chunk := range slices.Chunk(sessions, maxFindPlayers) {
			players := make([]string, len(chunk))
			for i, se := range chunk {
				players[i] = se.player
			}
			known, err := find(ctx, game, players)
			if err != nil {
				return err
			}
			for _, se := range chunk {
				if _, isKnown := known[se.player]; !isKnown {
					se.closeRevoked(identity.ErrUnknownGuest)
				}
			}
		}
	}
	return nil
}
