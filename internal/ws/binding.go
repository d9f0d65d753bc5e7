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
func (p *presence) bindLocally() bool {
	server := p.server
	server.bindMu.Lock()
	former := server.presenceOf(p.game, p.player)
	isNewest := former == nil || former.number < p.number
	if isNewest {
		server.Presence.Enter(p.game, p.player, p)
	}
	server.bindMu.Unlock()
	if isNewest && former != nil {
		former.close(protocol.CloseReplaced, replacedReason)
		former.unbindMu.Lock()   // if the former session is unbinding now, wait until it has finished
		former.unbindMu.Unlock() //nolint:staticcheck // the empty critical section only waits
	}
	return isNewest
}

// presenceOf returns a player's presence at this node, or nil if there is none.
func (s *Server) presenceOf(game, player string) *presence {
	subscriber, _ := s.Presence.Find(game, player)
	p, _ := subscriber.(*presence)
	return p
}

// CloseReplaced closes a player's session at this node if its own number is lower than
// number, the number of a newer session at another node. It does not block.
func (s *Server) CloseReplaced(game, player string, number int64) {
	if p := s.presenceOf(game, player); p != nil && p.number < number {
		p.close(protocol.CloseReplaced, replacedReason)
	}
}

// closeIfReplaced closes the session if the player has a newer one at another node. This
// is the fallback if the notification of NotifyReplaced was lost. If the lookup fails,
// the next heartbeat tries again.
func (p *presence) closeIfReplaced() {
	ctx, cancel := context.WithTimeout(context.Background(), p.server.callTimeout)
	defer cancel()
	if newest, err := p.server.SessionNumbers.Newest(ctx, p.game, p.player); err == nil && newest > p.number {
		p.close(protocol.CloseReplaced, replacedReason)
	}
}

// unbind removes the player from presence and the player's ticket from the lobby,
// unless a newer session has taken over both. A newer session at this node waits in
// bindLocally until unbind has returned. Otherwise unbind could remove what
// the newer session has just added. The player's seat in a match stays.
func (p *presence) unbind() {
	p.unbindMu.Lock()
	defer p.unbindMu.Unlock()
	if p.server.presenceOf(p.game, p.player) == p {
		p.withdrawTicket()
	}
	p.server.Presence.Leave(p.game, p.player, p)
	p.server.Engine.Detach(p.game, p.player, p) // last: from here on the engine has no reference to the session
}

// withdrawTicket removes the player's ticket from the lobby, unless a newer session at
// another node has taken over the ticket.
func (p *presence) withdrawTicket() {
	ctx, cancel := context.WithTimeout(context.Background(), p.server.callTimeout)
	defer cancel()
	newest, err := p.server.SessionNumbers.Newest(ctx, p.game, p.player)
	if err == nil && newest > p.number {
		return
	}
	if err == nil {
		err = p.server.Lobby.Leave(ctx, p.game, p.player)
	}
	if err != nil {
		p.server.Logger.Warn("ticket removal failed; the ticket expires by itself", "error", err)
	}
}

// Recheck closes the sessions whose player or token is no longer allowed. The close code
// is 4410 for a banned player. It is 4401 for a revoked token, a retired key and an
// erased player. Recheck does not block. It skips sessions without a hello: the server
// checks these before it sends the welcome.
func (s *Server) Recheck() {
	for _, se := range s.openSessions() {
		if se.greeted.Load() {
			se.closeUnlessAllowed()
		}
	}
}
