package match

import "context"

// inbox handles the messages of other nodes.
type inbox struct {
	*places
	lobby   *lobbyNotices
	settled *settledNotices
}

// Handlers returns the functions that handle messages of other nodes, by kind.
// They do not block.
func (i *inbox) Handlers() map[string]func(payload []byte) {
	return map[string]func([]byte){
		kindStep: i.onStep, kindLobby: i.onLobby, kindBroadcast: i.onBroadcast, kindExpel: i.onExpel, kindSettled: i.settled.onSettled,
	}
}

// onStep delivers a step of another node to the local match. If earlier pushes
// are missing, it schedules a read of the log.
func (i *inbox) onStep(payload []byte) {
	local, h, lines := i.findMatchForMessage(payload)
	if local == nil {
		return
	}
	local.updateVersion(h.Version)
	local.noteRemoteStep(h.State)
	if local.deliver(delivery{frames: numberedFrames{firstSeq: h.FirstSeq, encoded: lines}, state: h.State}) {
		i.armTimer(local)
		i.emitChange(local)
		return
	}
	i.metrics.filledGaps.Inc()
	if local.catchingUp.CompareAndSwap(false, true) {
		i.Wheel.After(0, func() { i.catchUp(local) })
	}
}

// catchUp reads what this node has missed of a match.
func (i *inbox) catchUp(local *localMatch) {
	local.catchingUp.Store(false)
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	view, err := i.read(ctx, local, local.knownState().Seq)
	if err != nil {
		if i.handleLoss(ctx, local, err) != nil {
			i.Logger.Debug("read of missed pushes failed; the next search retries", "match", local.plan.ID, "error", err)
		}
		return
	}
	i.adoptView(local, view)
}

func (i *inbox) onBroadcast(payload []byte) {
	if local, _, lines := i.findMatchForMessage(payload); local != nil {
		local.broadcast(lines...)
	}
}

func (i *inbox) onExpel(payload []byte) {
	local, h, lines := i.findMatchForMessage(payload)
	if local != nil {
		i.expel(local, h.Player, lines)
	}
}

func (i *inbox) onLobby(payload []byte) {
	if local, _, _ := i.findMatchForMessage(payload); local != nil {
		i.lobby.scheduleLobbyNotice(local, true)
	}
}
