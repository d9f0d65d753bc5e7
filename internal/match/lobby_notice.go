package match

import "context"

// lobbyNotices tells the players in a lobby how many have joined.
type lobbyNotices struct{ *advancer }

// NotifyPlacesChanged tells the engine that players joined or left an arena.
// The players in its lobby get a notice soon, on all nodes. It does not block.
// If this node dies or does not hold the arena, the search for missed pushes
// finds the change.
func (n *lobbyNotices) NotifyPlacesChanged(match string) {
	local := n.findLocalMatch(match)
	if local == nil {
		return
	}
	local.lobbyNotice.requestNodes()
	n.scheduleLobbyNotice(local, true)
	if local.knownState().Phase == PhaseOpen { // the player who left may have been the last one without an answer
		n.Wheel.After(0, func() { n.advanceDue(local) })
	}
}

// scheduleLobbyNotice schedules a notice to the local players in a lobby, if
// something changed or the match has a newer version than the last notice.
func (n *lobbyNotices) scheduleLobbyNotice(local *localMatch, changed bool) {
	state := local.knownState()
	if state.Phase != PhaseLobby {
		return
	}
	if wait, needed := local.lobbyNotice.schedule(state.Version, changed, n.Now()); needed {
		n.Wheel.Set(&local.lobbyNotice.timer, wait, func() { n.sendLobbyNotice(local) })
	}
}

// sendLobbyNotice reads the player counts of a lobby and pushes them to the local
// sessions. A failed read leads to another notice.
func (n *lobbyNotices) sendLobbyNotice(local *localMatch) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	notifyNodes := local.lobbyNotice.start()
	view, err := n.read(ctx, local, -1)
	switch {
	case err != nil:
		n.Logger.Warn("lobby read failed; retrying", "match", local.plan.ID, "error", n.handleLoss(ctx, local, err))
		if notifyNodes {
			local.lobbyNotice.requestNodes()
		}
	case notifyNodes:
		n.Bus.Send(ctx, view.Nodes, kindLobby, messageHeader{Match: local.plan.ID}.encode())
	}
	if view.Phase == PhaseLobby {
		local.pushLobbyNotice(view)
	}
	if local.lobbyNotice.end(view.Version, n.Now()) || err != nil {
		n.scheduleLobbyNotice(local, true)
	}
}
