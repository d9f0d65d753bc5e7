package match

import (
	"context"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/timer"
)

// lobbyNoticeInterval is the shortest interval between two notices to the players
// in an arena's lobby.
const lobbyNoticeInterval = 500 * time.Millisecond

// lobbyNotifier schedules the push with the player counts of a lobby. It limits
// the rate and always sends the last change. The mutex of the match guards it.
type lobbyNotifier struct {
	timer       *timer.Timer // set while a notice is scheduled
	changed     bool         // something changed since the read for the current notice started
	notifyNodes bool         // the next notice must also notify other nodes
	sentAt      int64        // last notice, cluster time
	sentVersion int64        // version of the match in the last notice
}

func (n *lobbyNotifier) stop() {
	if n.timer != nil {
		n.timer.Stop()
	}
}

// NotifyPlacesChanged tells the engine that players joined or left an arena.
// The players in its lobby get a notice soon, on all nodes. It does not block.
// If this node dies or does not hold the arena, the search for missed pushes
// finds the change.
func (e *Engine) NotifyPlacesChanged(match string) {
	local := e.findLocalMatch(match)
	if local == nil {
		return
	}
	local.mu.Lock()
	local.lobbyNotice.notifyNodes = true
	local.mu.Unlock()
	e.scheduleLobbyNotice(local, true)
	if local.knownState().Phase == PhaseOpen { // the player who left may have been the last one without an answer
		e.Wheel.After(0, func() { e.advanceDue(local) })
	}
}

// scheduleLobbyNotice schedules a notice to the local players in a lobby, if
// something changed or the match has a newer version than the last notice.
func (e *Engine) scheduleLobbyNotice(local *localMatch, changed bool) {
	local.mu.Lock()
	defer local.mu.Unlock()
	switch {
	case local.state.Phase != PhaseLobby, !changed && local.state.Version <= local.lobbyNotice.sentVersion:
	case local.lobbyNotice.timer != nil:
		local.lobbyNotice.changed = true
	default:
		wait := time.Duration(local.lobbyNotice.sentAt-e.Now())*time.Millisecond + lobbyNoticeInterval
		local.lobbyNotice.timer = e.Wheel.After(max(wait, time.Millisecond), func() { e.sendLobbyNotice(local) })
	}
}

// sendLobbyNotice reads the player counts of a lobby and pushes them to the local
// sessions.
// Later changes and failed reads lead to another notice.
func (e *Engine) sendLobbyNotice(local *localMatch) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	notifyNodes := local.startLobbyNotice()
	view, err := e.read(ctx, local, -1)
	if err != nil {
		e.Logger.Warn("lobby read failed; retrying", "match", local.plan.ID, "error", e.handleLoss(ctx, local, err))
		local.endFailedLobbyNotice(notifyNodes, e.Now())
		e.scheduleLobbyNotice(local, true)
		return
	}
	if notifyNodes {
		e.Bus.Send(ctx, view.Nodes, kindLobby, messageHeader{Match: local.plan.ID}.encode())
	}
	if local.endLobbyNotice(view, e.Now()) {
		e.scheduleLobbyNotice(local, true)
	}
}

// startLobbyNotice starts a notice and reports whether other nodes must be
// notified.
func (l *localMatch) startLobbyNotice() (notifyNodes bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	notifyNodes = l.lobbyNotice.notifyNodes
	l.lobbyNotice.changed, l.lobbyNotice.notifyNodes = false, false
	return notifyNodes
}

// endFailedLobbyNotice ends a notice whose read failed.
func (l *localMatch) endFailedLobbyNotice(notifyNodes bool, now int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lobbyNotice.timer, l.lobbyNotice.sentAt, l.lobbyNotice.notifyNodes = nil, now, l.lobbyNotice.notifyNodes || notifyNodes
}

// endLobbyNotice pushes what was read. It reports whether something has changed
// since the read.
func (l *localMatch) endLobbyNotice(view View, now int64) (changed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lobbyNotice.timer, l.lobbyNotice.sentAt, l.lobbyNotice.sentVersion = nil, now, view.Version
	if view.Phase == PhaseLobby && l.state.Phase == PhaseLobby {
		l.broadcastLocked(protocol.EncodePush(protocol.TypeArenaLobby, protocol.ArenaLobby{
			ArenaID: l.plan.Arena.ID, Teams: view.TeamCounts(l.plan.Arena), Players: view.Players,
		}))
	}
	return l.lobbyNotice.changed
}

// lobbyClosedFrame tells the players in a lobby that the match will not begin.
func lobbyClosedFrame(plan *Plan, reason Reason) []byte {
	return protocol.EncodePush(protocol.TypeArenaClosed, protocol.ArenaEnd{ArenaID: plan.Arena.ID, Reason: string(reason)})
}

// TeamCounts lists the teams of an arena with their number of players, in the
// arena's order. The list is never nil.
func (v View) TeamCounts(arena *Arena) []protocol.TeamCount {
	counts := make([]protocol.TeamCount, 0, len(arena.Teams))
	for _, t := range arena.Teams {
		counts = append(counts, protocol.TeamCount{ID: t.ID, Name: t.Name, Players: v.Teams[t.ID].Players})
	}
	return counts
}
