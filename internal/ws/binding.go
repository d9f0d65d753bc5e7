package ws

import (
	"context"

	"laststand/internal/protocol"
)

const replacedReason = "replaced by a newer connection"

// bindLocally makes this session the player's only one at this node, and closes the
// player's former session. It returns false if a newer session is already bound.
func (p *presence) bindLocally() bool {
	server := p.services
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
func (s *services) presenceOf(game, player string) *presence {
	subscriber, _ := s.Presence.Find(game, player)
	p, _ := subscriber.(*presence)
	return p
}

// closeIfReplaced closes the session if the player has a newer one at another node. This
// is the fallback if the notification of NotifyReplaced was lost. If the lookup fails,
// the next heartbeat tries again.
func (p *presence) closeIfReplaced() {
	ctx, cancel := context.WithTimeout(context.Background(), p.services.callTimeout)
	defer cancel()
	if newest, err := p.services.SessionNumbers.Newest(ctx, p.game, p.player); err == nil && newest > p.number {
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
	if p.services.presenceOf(p.game, p.player) == p {
		p.withdrawTicket()
	}
	p.services.Presence.Leave(p.game, p.player, p)
	p.services.Engine.Detach(p.game, p.player, p) // last: from here on the engine has no reference to the session
}

// withdrawTicket removes the player's ticket from the lobby, unless a newer session at
// another node has taken over the ticket.
func (p *presence) withdrawTicket() {
	ctx, cancel := context.WithTimeout(context.Background(), p.services.callTimeout)
	defer cancel()
	newest, err := p.services.SessionNumbers.Newest(ctx, p.game, p.player)
	if err == nil && newest > p.number {
		return
	}
	if err == nil {
		err = p.services.Lobby.Leave(ctx, p.game, p.player)
	}
	if err != nil {
		p.services.Logger.Warn("ticket removal failed; the ticket expires by itself", "error", err)
	}
}
