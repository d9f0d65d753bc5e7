package ws

import (
	"context"

	"laststand/internal/protocol"
)

// SessionNumbers gives each session of a player a number. All nodes share the numbers: of
// two sessions of one player, the one with the higher number is newer.
type Numbers interface {
	// Assign returns a new number for a session that starts at this node, higher than all
	// earlier numbers of the player. formerNode is the node of the player's session before
	// it, or "" if none is known.
	Next(ctx context.Context, game, player string) (number int64, former string, err error)
	// Newest returns the highest number assigned to a session of the player, or 0 if none
	// is known.
	Newest(ctx context.Context, game, player string) (int64, error)
}

const replacedReason = "replaced by a newer connection"

// bindLocally makes this session the player's only one at this node, and closes the
// player's former session. It returns false if a newer session is already bound.
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
		former.unbindMu.Lock()   // if the former session is unbinding now, wait until it has finished
		former.unbindMu.Unlock() //nolint:staticcheck // the empty critical section only waits
	}
	return newest
}

// sessionOf returns a player's session at this node, or nil if there is none.
func (s *Server) find(game, player string) *session {
	sub, _ := s.Presence.Find(game, player)
	se, _ := sub.(*session)
	return se
}

// CloseReplaced closes a player's session at this node if its own number is lower than
// number, the number of a newer session at another node. It does not block.
func (s *Server) Replaced(game, player string, number int64) {
	if se := s.find(game, player); se != nil && se.number < number {
		se.close(protocol.CloseReplaced, replacedReason)
	}
}

// closeIfReplaced closes the session if the player has a newer one at another node. This
// is the fallback if the notification of NotifyReplaced was lost. If the lookup fails,
// the next heartbeat tries again.
func (se *session) closeIfReplaced() {
	ctx, cancel := context.WithTimeout(context.Background(), se.server.callWithin)
	defer cancel()
	if newest, err := se.server.Numbers.Newest(ctx, se.game, se.player); err == nil && newest > se.number {
		se.close(protocol.CloseReplaced, replacedReason)
	}
}

// unbindPlayer removes the player from presence and the player's ticket from the lobby,
// unless a newer session has taken over both. A newer session at this node waits in
// bindLocally until unbindPlayer has returned. Otherwise unbindPlayer could remove what
// the newer session has just added. The player's seat in a match stays.
func (se *session) unbindPlayer() {
	se.unbindMu.Lock()
	defer se.unbindMu.Unlock()
	if se.server.find(se.game, se.player) == se {
		se.withdrawTicket()
	}
	se.server.Presence.Leave(se.game, se.player, se)
	se.server.Engine.Detach(se.game, se.player, se) // last: from here on the engine has no reference to the session
}

// withdrawTicket removes the player's ticket from the lobby, unless a newer session at
// another node has taken over the ticket.
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
