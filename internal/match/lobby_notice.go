package match

import (
	"context"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/timer"
)

// lobbyNoticeEvery is how often those in an arena's lobby are told at the most who is
// there.
const lobbyNoticeEvery = 500 * time.Millisecond

// lobbyNotifier is the push of who is in a lobby: told at most once in a while, and
// the last change always. It is guarded by the mu of its match.
type lobbyNotifier struct {
	timer       *timer.Timer // set from when it is due until it is told
	changed     bool         // there is news since it is being told
	notifyNodes bool         // other nodes are to be told that there is news
	sentAt      int64        // when, cluster time
	sentVersion int64        // of the match, as it was told last
}

func (n *lobbyNotifier) stop() {
	if n.timer != nil {
		n.timer.Stop()
	}
}

// NotifyPlacesChanged says that players came to an arena or left it: those in its lobby are
// told in time, at the other nodes too. It does not block. Where this node
// dies, or does not hold the arena, the search for what was missed finds it.
func (e *Engine) NotifyPlacesChanged(match string) {
	l := e.findLocal(match)
	if l == nil {
		return
	}
	l.mu.Lock()
	l.lobbyNotice.notifyNodes = true
	l.mu.Unlock()
	e.scheduleLobbyNotice(l, true)
	if l.knownState().Phase == Open { // who has left may have been the last to be waited for
		e.Wheel.After(0, func() { e.advanceDue(l) })
	}
}

// scheduleLobbyNotice has those who are here told who is in the lobby, where there is
// news or the match has moved on since they were told.
func (e *Engine) scheduleLobbyNotice(l *localMatch, changed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.state.Phase != Lobby, !changed && l.state.Version <= l.lobbyNotice.sentVersion:
	case l.lobbyNotice.timer != nil:
		l.lobbyNotice.changed = true
	default:
		wait := time.Duration(l.lobbyNotice.sentAt-e.Now())*time.Millisecond + lobbyNoticeEvery
		l.lobbyNotice.timer = e.Wheel.After(max(wait, time.Millisecond), func() { e.sendLobbyNotice(l) })
	}
}

// sendLobbyNotice reads who is in a lobby and tells those who are here. What comes
// meanwhile, or cannot be read, is told the next time.
func (e *Engine) sendLobbyNotice(l *localMatch) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	notifyNodes := l.beginLobbyNotice()
	v, err := e.read(ctx, l, -1)
	if err != nil {
		e.Logger.Warn("a lobby could not be read", "match", l.plan.ID, "error", e.handleLoss(ctx, l, err))
		l.retryLobbyNotice(notifyNodes, e.Now())
		e.scheduleLobbyNotice(l, true)
		return
	}
	if notifyNodes {
		e.Bus.Send(ctx, v.Nodes, kindLobby, header{Match: l.plan.ID}.encode())
	}
	if l.endLobbyNotice(v, e.Now()) {
		e.scheduleLobbyNotice(l, true)
	}
}

// beginLobbyNotice says whether other nodes are to be told that there is news.
func (l *localMatch) beginLobbyNotice() (notifyNodes bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	notifyNodes = l.lobbyNotice.notifyNodes
	l.lobbyNotice.changed, l.lobbyNotice.notifyNodes = false, false
	return notifyNodes
}

// retryLobbyNotice ends a notice that could not be read.
func (l *localMatch) retryLobbyNotice(notifyNodes bool, now int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lobbyNotice.timer, l.lobbyNotice.sentAt, l.lobbyNotice.notifyNodes = nil, now, l.lobbyNotice.notifyNodes || notifyNodes
}

// endLobbyNotice tells those who are here what was read, and says whether there is
// more to tell.
func (l *localMatch) endLobbyNotice(v View, now int64) (changed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lobbyNotice.timer, l.lobbyNotice.sentAt, l.lobbyNotice.sentVersion = nil, now, v.Version
	if v.Phase == Lobby && l.state.Phase == Lobby {
		l.broadcastLocked(protocol.EncodePush(protocol.TypeArenaLobby, protocol.ArenaLobby{
			ArenaID: l.plan.Arena.ID, Teams: v.TeamCounts(l.plan.Arena), Players: v.Players,
		}))
	}
	return l.lobbyNotice.changed
}

// lobbyClosedFrame tells those in a lobby that nothing will come of it.
func lobbyClosedFrame(p *Plan, reason Reason) []byte {
	return protocol.EncodePush(protocol.TypeArenaClosed, protocol.ArenaEnd{ArenaID: p.Arena.ID, Reason: string(reason)})
}

// TeamCounts are an arena's teams and how many players they have, in the order
// of the arena; none is not nil.
func (v View) TeamCounts(a *Arena) []protocol.TeamCount {
	counts := make([]protocol.TeamCount, 0, len(a.Teams))
	for _, t := range a.Teams {
		counts = append(counts, protocol.TeamCount{ID: t.ID, Name: t.Name, Players: v.Teams[t.ID].Players})
	}
	return counts
}
