package ws

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"laststand/internal/identity"
	"laststand/internal/match"
	"laststand/internal/overload"
	"laststand/internal/protocol"
)

// presence is a session's connection and the player behind it. The engine sends the pushes
// of matches to it. Any goroutine may use it after the hello.
type presence struct {
	connection

	address       netip.Addr // the client's address
	game          string
	player        string
	claims        identity.Claims // of its token; the role is player or host
	number        int64           // orders the player's sessions at all nodes; game, player, claims and number do not change after the hello
	greeted       atomic.Bool     // the hello is accepted
	inDuel        atomic.Bool     // see DuelChanged
	reportOffline func()          // nil if nothing is reported; the read loop owns it
	lastRequest   atomic.Int64    // when the last request other than a ping arrived, or the connection itself; cluster time in ms
	watchCount    atomic.Int32    // boards that the session watches

	// The match that the player was in before this session, "" for none; nil until it
	// is known.
	previousMatch atomic.Pointer[string]

	unbindMu sync.Mutex // held while unbind runs
}

var _ match.Subscriber = (*presence)(nil)

func (p *presence) addressKey() overload.Key { return overload.AddressKey(p.address) }

func (p *presence) playerKey() overload.Key { return overload.ObjectKey(p.game, p.player) }

// Push queues pushes of a match for the client. It does not block.
func (p *presence) Push(match string, frames ...[]byte) { p.outbox.push(match, frames...) }

// DiscardUnsent drops the pushes of a match that the outbox holds back.
func (p *presence) DiscardUnsent(match string) { p.outbox.dropHeld(match) }

// CanAttach returns true if the engine may attach this session to a match that starts. It
// returns false for the match that the player was in before this session: welcome
// attaches the session to that. It also returns false until the previous match is known.
func (p *presence) CanAttach(match string) bool {
	previous := p.previousMatch.Load()
	return previous != nil && *previous != match
}

// DuelChanged counts the player in services.duelPlayers from the start of a duel to its
// end.
func (p *presence) DuelChanged(running bool) {
	if p.inDuel.Swap(running) == running {
		return
	}
	if running {
		p.services.duelPlayers.Add(1)
	} else {
		p.services.duelPlayers.Add(-1)
	}
}

// inMatch returns true if the hello is accepted and the player is in a match at this node.
func (p *presence) inMatch() bool {
	return p.greeted.Load() && p.services.Engine.IsInMatch(p.game, p.player)
}

// isWaiting returns true if a greeted session waits for an opponent or an arena, or
// watches a board.
func (p *presence) isWaiting() bool {
	return p.watchCount.Load() > 0 || p.services.Lobby.HasTicket(p.game, p.player) || p.services.Engine.IsFollowing(p.game, p.player)
}

// reportOnline reports a player as online; it ignores hosts. Each session is reported
// separately. If this session replaces another, the other's end is reported when the other
// session ends, perhaps a little later.
func (p *presence) reportOnline() {
	if p.services.Reporter != nil && p.claims.Role == identity.RolePlayer {
		p.reportOffline = p.services.Reporter.Enter(p.game, p.player, p.claims.PI)
	}
}

func (p *presence) countAction(actionLimit *overload.ActionLimit) {
	ctx, cancel := context.WithTimeout(context.Background(), p.services.callTimeout)
	defer cancel()
	actionLimit.CountAction(ctx, p.playerKey(), p.addressKey())
}

// countMatch returns a function that counts a match that the player has joined, and then
// runs afterReply. The match counts when the player joins it and not when it starts. So it
// also counts if the player disconnects before the start.
func (p *presence) countMatch(afterReply func()) func() {
	return func() {
		p.countAction(p.services.Limits.Matches)
		afterReply()
	}
}

// closeRevoked closes the session and returns true if err is a ban or an invalid token.
func (p *presence) closeRevoked(err error) bool {
	switch {
	case errors.Is(err, identity.ErrBanned):
		p.close(protocol.CloseBanned, closeReason(err.Error()))
	case errors.Is(err, identity.ErrToken):
		p.close(protocol.CloseUnauthorized, closeReason(err.Error()))
	default:
		return false
	}
	return true
}

// closeWithRetry closes an idle session and sends the client a time to reconnect. The
// delay depends on the session's position in a batch. There are ten different delays, so
// that the clients do not reconnect at the same time.
func (p *presence) closeWithRetry(position int) {
	p.closeAfterQueued(protocol.CloseOverloaded, retryReasonAfter(retryMS+int64(position%10)*retryMS/2))
}

// maxCloseReason is the maximum size of the reason in a close frame, in bytes (RFC 6455,
// 5.5).
const maxCloseReason = 123

// closeReason cuts a text to maxCloseReason bytes, between characters.
func closeReason(text string) string {
	if len(text) <= maxCloseReason {
		return text
	}
	text = text[:maxCloseReason]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text
}
