package ws

import (
	"context"

	"laststand/internal/protocol"
)

// SessionNumbers gives each session of a player a number. All nodes share the numbers: of
// two sessions of one player, the one with the higher number is newer.
type SessionNumbers interface {
	// Assign returns a new number for a session that starts at this node, higher than all
	// earlier numbers of the player. formerNode is the node of the player's session before
	// it, or "" if none is known.
	Assign(ctx context.Context, game, player string) (number int64, formerNode string, err error)
	// Newest returns the highest number assigned to a session of the player, or 0 if none
	// is known.
	Newest(ctx context.Context, game, player string) (int64, error)
}

const replacedReason = "replaced by a newer connection"

// bindLocally makes this session the player's only one at this node, and closes the
// player's former session. It returns false if a newer session is already bound.
func (se *session) bindLocally() bool {
	server := se.server
	server.bindMu.Lock()
	former := server.sessionOf(se.game, se.player)
	isNewest := former == nil || former.number < se.number
	if isNewest {
		server.Presence.Enter(se.game, se.player, se)
	}
	server.bindMu.Unlock()
	if isNewest && former != nil {
		former.close(protocol.CloseReplaced, replacedReason)
		former.unbindMu.Lock()   // if the former session is unbinding now, wait until it has finished
		former.unbindMu.Unlock() //nolint:staticcheck // the empty critical section only waits
	}
	return isNewest
}

// sessionOf returns a player's session at this node, or nil if there is none.
func (s *Server) sessionOf(game, player string) *session {
	subscriber, _ := s.Presence.Find(game, player)
	se, _ := subscriber.(*session)
	return se
}

// CloseReplaced closes a player's session at this node if its own number is lower than
// number, the number of a newer session at another node. It does not block.
func (s *Server) CloseReplaced(game, player string, number int64) {
	if se := s.sessionOf(game, player); se != nil && se.number < number {
		se.close(protocol.CloseReplaced, replacedReason)
	}
}

// closeIfReplaced closes the session if the player has a newer one at another node. This
// is the fallback if the notification of NotifyReplaced was lost. If the lookup fails,
// the next heartbeat tries again.
func (se *session) closeIfReplaced() {
	ctx, cancel := context.WithTimeout(context.Background(), se.server.callTimeout)
	defer cancel()
	if newest, err := se.server.SessionNumbers.Newest(ctx, se.game, se.player); err == nil && newest > se.number {
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
	if se.server.sessionOf(se.game, se.player) == se {
		se.withdrawTicket()
	}
	se.server.Presence.Leave(se.game, se.player, se)
	se.server.Engine.Detach(se.game, se.player, se) // last: from here on the engine has no reference to the session
}

// withdrawTicket removes the player's ticket from the lobby, unless a newer session at
// another node has taken over the ticket.
func (se *session) withdrawTicket() {
	ctx, cancel := context.WithTimeout(context.Background(), se.server.callTimeout)
	defer cancel()
	newest, err := se.server.SessionNumbers.Newest(ctx, se.game, se.player)
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
