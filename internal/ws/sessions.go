package ws

import (
	"context"
	"slices"

	"laststand/internal/identity"
	"laststand/internal/protocol"
)

// register adds a session to the server. It returns the close code and reason to reject the
// connection with, or 0.
func (s *Server) register(se *session) (code int, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining.Load() {
		return protocol.CloseDraining, "draining"
	}
	taken, isSingleAddress := s.places.Take(&se.admission.place)
	if isSingleAddress && s.OnSingleAddress != nil {
		s.OnSingleAddress(se.address)
	}
	if !taken {
		return protocol.CloseOverloaded, retryReason
	}
	s.sessions[se] = struct{}{}
	s.runningSessions.Add(1)
	s.metrics.sessions.Set(float64(len(s.sessions)))
	return 0, ""
}

func (s *Server) removeSession(se *session) {
	s.places.Release(&se.admission.place)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, se)
	s.metrics.sessions.Set(float64(len(s.sessions)))
	s.runningSessions.Done()
}

func (s *Server) openSessions() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	sessions := make([]*session, 0, len(s.sessions))
	for se := range s.sessions {
		sessions = append(sessions, se)
	}
	return sessions
}

// CloseReplaced closes a player's session at this node if its own number is lower than
// number, the number of a newer session at another node. It does not block.
func (s *Server) CloseReplaced(game, player string, number int64) {
	if p := s.presenceOf(game, player); p != nil && p.number < number {
		p.close(protocol.CloseReplaced, replacedReason)
	}
}

// Recheck closes the sessions whose player or token is no longer allowed. The close code
// is 4410 for a banned player. It is 4401 for a revoked token, a retired key and an
// erased player. Recheck does not block. It skips sessions without a hello: the server
// checks these before it sends the welcome.
func (s *Server) Recheck() {
	for _, se := range s.openSessions() {
		if se.greeted.Load() {
			se.closeRevoked(se.services.Identity.CheckActive(se.claims, se.player))
		}
	}
}

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
