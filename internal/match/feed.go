package match

import (
	"maps"
	"slices"

	"laststand/internal/protocol"
)

// numberedFrames are consecutive numbered pushes.
type numberedFrames struct {
	firstSeq int64 // number of the first frame
	encoded  [][]byte
}

// indexAfter returns the index of the first frame after a number. It returns
// the length if there is none or if an earlier frame is missing.
func (f numberedFrames) indexAfter(seq int64) int {
	from := seq + 1 - f.firstSeq
	if from < 0 || from > int64(len(f.encoded)) {
		return len(f.encoded)
	}
	return int(from)
}

func encodeFrames(pushes []protocol.NumberedPush, first int64) numberedFrames {
	f := numberedFrames{firstSeq: first}
	for i, push := range pushes {
		f.encoded = append(f.encoded, push.Frame(first+int64(i)))
	}
	return f
}

// delivery is what the sessions at this node get as one unit: frames, personal results
// between them, and the state after the frames. The state is nil if it is unchanged.
type delivery struct {
	frames   numberedFrames
	personal personalFrames
	state    *State
}

// addStep adds the frames of a step after those of earlier steps.
func (d *delivery) addStep(added numberedFrames, newState State) {
	if len(d.frames.encoded) == 0 {
		d.frames.firstSeq = added.firstSeq
	}
	d.frames.encoded = append(d.frames.encoded, added.encoded...)
	d.state = &newState
}

// deliver pushes what follows the last delivered push. It returns false if
// pushes in between are missing here.
func (l *localMatch) deliver(delivered delivery) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isAbandoned() {
		return true
	}
	if len(delivered.frames.encoded) > 0 && delivered.frames.firstSeq > l.state.Seq+1 {
		return false
	}
	if delivered.state != nil {
		l.reportDuelEnd(*delivered.state)
	}
	l.pushFrames(delivered.frames, l.claimFrames(delivered.personal))
	if delivered.state != nil {
		l.adoptState(*delivered.state)
	}
	return true
}

// catchUp pushes the frames of a view that were not delivered yet and adopts
// its state. If the match has ended without a frame that was not delivered here,
// the store has lost data, because the end has a frame of its own. The caller holds mu.
func (l *localMatch) catchUp(view View) {
	switch {
	case l.isAbandoned():
		return
	case view.Phase.hasEnded() && 0 < view.Seq && view.Seq <= l.state.Seq:
		l.endAsAbandoned()
		return
	}
	l.reportDuelEnd(view.State)
	l.pushFrames(numberedFrames{firstSeq: view.Seq - int64(len(view.Frames)) + 1, encoded: view.Frames}, personalFrames{})
	l.adoptState(view.State)
}

// reportDuelEnd tells the sessions that their duel is over, if the given state
// ends it. The caller holds mu and has not pushed or adopted the end yet.
func (l *localMatch) reportDuelEnd(newState State) {
	if l.plan.Mode != Duel || !newState.Phase.hasEnded() || l.state.Phase.hasEnded() {
		return
	}
	for _, session := range l.sessions {
		session.DuelChanged(l.plan.ID, false)
	}
}

// pushFrames delivers frames to the sessions, in order and once each. It skips
// frames that were delivered before. It inserts the personal results. Each session gets
// everything in one call, and so in one write to its socket. The order of the sessions
// is random (map order). The caller holds mu.
func (l *localMatch) pushFrames(added numberedFrames, personal personalFrames) {
	from := added.indexAfter(l.state.Seq)
	frames := added.encoded[from:]
	if len(frames) == 0 && len(personal.byPlayer) == 0 {
		return
	}
	position := max(personal.position-from, 0)
	l.state.Seq += int64(len(frames))
	if l.attachingSessions > 0 {
		l.recentFrames = append(l.recentFrames, frames...)
	}
	for player, session := range l.sessions {
		if own, ok := personal.byPlayer[player]; ok {
			session.Push(l.plan.ID, slices.Concat(frames[:position], [][]byte{own}, frames[position:])...)
		} else if len(frames) > 0 {
			session.Push(l.plan.ID, frames...)
		}
	}
}

// adoptState stores a state as the known one, unless a newer one is known. The caller holds
// mu.
func (l *localMatch) adoptState(state State) {
	switch {
	case state.Phase.hasEnded() && state.EndReason == ReasonAbandoned:
		l.endAsAbandoned()
		return
	case state.Version < l.state.Version:
		return
	case state.Version == l.state.Version && state.Phase != l.state.Phase && !l.state.Phase.hasEnded():
		// The store lost steps, and another node took as many other steps.
		l.endAsAbandoned()
		return
	case state.Phase.hasEnded() && state.Seq == 0 && !l.state.Phase.hasEnded(): // it ended in the lobby
		l.broadcastLocked(lobbyClosedFrame(l.plan, ReasonClosed))
	}
	state.Seq = l.state.Seq
	l.state = state
}

// endAsAbandoned ends a match of which the store has lost data. The final push
// gets the next number after those delivered here. The caller holds mu.
func (l *localMatch) endAsAbandoned() {
	if l.state.Phase.hasEnded() {
		return
	}
	l.reportDuelEnd(State{Phase: PhaseOver})
	if l.state.Seq == 0 {
		l.broadcastLocked(lobbyClosedFrame(l.plan, ReasonAbandoned))
	} else {
		seq := l.state.Seq + 1
		l.pushFrames(numberedFrames{firstSeq: seq, encoded: [][]byte{abandonedPush(l.plan).Frame(seq)}}, personalFrames{})
	}
	l.state.Phase, l.state.EndReason = PhaseOver, ReasonAbandoned
}

// broadcastLocked pushes a frame without a number to every session. The caller
// holds mu.
func (l *localMatch) broadcastLocked(frame []byte) {
	for _, session := range l.sessions {
		session.Push("", frame)
	}
}

// broadcast pushes frames without numbers to every session.
func (l *localMatch) broadcast(frames ...[]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, frame := range frames {
		l.broadcastLocked(frame)
	}
}

// startAttaching starts to keep the delivered frames for a session that has all
// frames up to a number. endAttaching stops that. It returns the number after
// which the log must be read, for this session and for those already here.
func (l *localMatch) startAttaching(after int64) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attachingSessions++
	return min(after, l.state.Seq)
}

func (l *localMatch) endAttaching() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.attachingSessions--; l.attachingSessions == 0 {
		l.recentFrames = nil
	}
}

// framesSince returns the frames after a number that were delivered since
// startAttaching. The caller holds mu.
func (l *localMatch) framesSince(seq int64) [][]byte {
	all := int64(len(l.recentFrames))
	return l.recentFrames[all-min(max(l.state.Seq-seq, 0), all):]
}

// addSession adds a session. It first pushes the frames that the session has
// not seen: those of the view, then those delivered since the view was read.
// The caller holds mu and has called startAttaching before the read.
func (l *localMatch) addSession(request AttachRequest, view View) {
	l.sessions[request.Player] = request.Session
	if running := !l.state.Phase.hasEnded(); l.plan.Mode == Duel && (running || request.AfterSeq < view.Seq) {
		request.Session.DuelChanged(l.plan.ID, running)
	}
	first := view.Seq - int64(len(view.Frames)) + 1
	for i, frame := range view.Frames {
		if first+int64(i) > request.AfterSeq {
			request.Session.Push(l.plan.ID, frame)
		}
	}
	if l.isAbandoned() {
		if view.Seq > 0 && (view.EndReason == ReasonAbandoned || !view.Phase.hasEnded()) {
			request.Session.Push(l.plan.ID, abandonedPush(l.plan).Frame(max(request.AfterSeq, view.Seq)+1))
		}
		return
	}
	for _, frame := range l.framesSince(view.Seq) {
		request.Session.Push(l.plan.ID, frame)
	}
}

// allSessions returns the sessions at this node, by player.
func (l *localMatch) allSessions() map[string]Subscriber {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.sessions)
}

// playerSessions returns the sessions at this node whose players have a seat.
func (l *localMatch) playerSessions() map[string]Subscriber {
	sessions := l.allSessions()
	maps.DeleteFunc(sessions, func(player string, _ Subscriber) bool {
		return l.plan.Arena != nil && !l.members.hasRole(player, PlayerRole)
	})
	return sessions
}

// hasHost reports whether the host of an arena has a session at this node, in
// any role.
func (l *localMatch) hasHost() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sessions[l.plan.Arena.Host] != nil
}

// pushLobbyNotice pushes the player counts of a lobby to every session, unless the
// match has begun.
func (l *localMatch) pushLobbyNotice(view View) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state.Phase == PhaseLobby {
		l.broadcastLocked(protocol.EncodePush(protocol.TypeArenaLobby, protocol.ArenaLobby{
			ArenaID: l.plan.Arena.ID, Teams: view.TeamCounts(l.plan.Arena), Players: view.Players,
		}))
	}
}

// isSettledExpected reports whether sessions here wait for the notification that the
// result is settled.
func (l *localMatch) isSettledExpected() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.plan.CountsForLeaderboards && l.state.hasClosedQuestion() && l.state.Phase.hasEnded() && !l.isAbandoned() && len(l.sessions) > 0
}
