package ws

import (
	"context"

	"laststand/internal/protocol"
)

// Numbers numbers the sessions of players over all nodes. Of two sessions of one
// player, the one with the higher number is newer.
type Numbers interface {
	// Next numbers a session that begins here, higher than all before. former is the
	// node of the session before it, or "" if none is known.
	Next(ctx context.Context, game, player string) (number int64, former string, err error)
	// Newest returns the highest number given, 0 if none is known.
	Newest(ctx context.Context, game, player string) (int64, error)
}

const replacedReason = "replaced by a newer connection"

// bindLocally makes the session the player's only one at this node, and closes a former
// one. It returns false if a newer session is already bound.
func (se *session) bindLocally() bool {
	s := se.server
	s.bindMu.Lock()
	former := s.find(se.game, se.player)
	newest := former == nil || former.number < se.number
	if newest {
		s.Presence.Enter(se.game, se.player, se)
	}
	s.bindMu.Unlock()
	if newest && former != nil {
		former.close(protocol.CloseReplaced, replacedReason)
		former.unbindMu.Lock()   // wait while the former session unbinds, if it has begun to
		former.unbindMu.Unlock() //nolint:staticcheck // the empty critical section only waits
	}
	return newest
}

// find returns a player's session at this node, nil for none.
func (s *Server) find(game, player string) *session {
	sub, _ := s.Presence.Find(game, player)
	se, _ := sub.(*session)
	return se
}

// Replaced closes a player's session at this node if its number is lower than number: a
// newer session has begun at another node. It does not block.
func (s *Server) Replaced(game, player string, number int64) {
	if se := s.find(game, player); se != nil && se.number < number {
		se.close(protocol.CloseReplaced, replacedReason)
	}
}

// closeIfReplaced closes the session if a newer one has begun at another node and the
// notification was lost. If the lookup fails, the next heartbeat tries again.
func (se *session) closeIfReplaced() {
	ctx, cancel := context.WithTimeout(context.Background(), se.server.callWithin)
	defer cancel()
	if newest, err := se.server.Numbers.Newest(ctx, se.game, se.player); err == nil && newest > se.number {
		se.close(protocol.CloseReplaced, replacedReason)
	}
}

// unbindPlayer removes the player from presence and the player's ticket from the lobby,
// unless a newer session has taken over both. A newer session at this node waits until
// unbindPlayer is done, so that it keeps what it enters afterwards. The player's seat
// in a match stays.
func (se *session) unbindPlayer() {
	se.unbindMu.Lock()
	defer se.unbindMu.Unlock()
	if se.server.find(se.game, se.player) == se {
		se.withdrawTicket()
	}
	se.server.Presence.Leave(se.game, se.player, se)
	se.server.Engine.Detach(se.game, se.player, se) // last: from here on the engine has no reference to the session
}

// withdrawTicket removes the player's ticket from the lobby, unless a session at
// another node has taken it over.
func (se *session) withdrawTicket() {
	ctx, cancel := context.WithTimeout(context.Background(), se.server.callWithin)
	defer cancel()
	newest, err := se.server.Numbers.Newest(ctx, se.game, se.player)
	if err == nil && newest > se.number {
		return
	}
	if err == nil {
		err = se.server.Lobby.Leave(ctx, se.game, se.player)
	}
	if err != nil {
		se.server.Logger.Warn("ticket removal failed; the ticket expires by itself", "error", err)
	}
}
