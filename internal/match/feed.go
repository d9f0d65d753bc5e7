package match

import (
	"slices"

	"laststand/internal/protocol"
)

// deliver pushes what follows the last delivered push. If pushes in between are missing here,
// it does nothing and returns false.
func (l *localMatch) deliver(delivered delivery) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state.isAbandoned() {
		return true
	}
	if !delivered.follows(l.state.Seq) {
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
	case l.state.isAbandoned():
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
		session.DuelChanged(false)
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
	case state.isAbandoned():
		l.endAsAbandoned()
		return
	case state.Version < l.state.Version:
		return
	case state.Version == l.state.Version && state.Phase != l.state.Phase && !l.state.Phase.hasEnded():
		// The store lost steps, and another node took as many other steps.
		l.endAsAbandoned()
		return
	case state.Phase.hasEnded() && state.Seq == 0 && !l.state.Phase.hasEnded(): // it ended in the lobby
		l.sessions.push(lobbyClosedFrame(l.plan, ReasonClosed))
	}
	state.Seq = l.state.Seq
	l.state = state
	l.pushOwnDeadlines()
}

// endAsAbandoned ends a match of which the store has lost data. The final push
// gets the next number after those delivered here. The caller holds mu.
func (l *localMatch) endAsAbandoned() {
	if l.state.Phase.hasEnded() {
		return
	}
	l.reportDuelEnd(State{Phase: PhaseOver})
	if l.state.Seq == 0 {
		l.sessions.push(lobbyClosedFrame(l.plan, ReasonAbandoned))
	} else {
		seq := l.state.Seq + 1
		l.pushFrames(numberedFrames{firstSeq: seq, encoded: [][]byte{abandonedPush(l.plan).Frame(seq)}}, personalFrames{})
	}
	l.state.Phase, l.state.EndReason = PhaseOver, ReasonAbandoned
}

// broadcast pushes frames without numbers to every session.
func (l *localMatch) broadcast(frames ...[]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sessions.push(frames...)
}

// claimFrames returns the personal results if they were not sent yet. If a player
// has attached since they were encoded, it returns none, and schedulePersonal sends all of
// them. The caller holds mu.
func (l *localMatch) claimFrames(frames personalFrames) personalFrames {
	if len(frames.byPlayer) == 0 || l.lastPersonalQuestion >= frames.question {
		return personalFrames{}
	}
	for player := range l.sessions {
		if _, listed := frames.byPlayer[player]; !listed && l.hasSeat(player) {
			return personalFrames{}
		}
	}
	l.lastPersonalQuestion = frames.question
	return frames
}

// pushOwnDeadlines tells each player with extra time and a session here when the question
// closes for that player, once after each change. The caller holds mu.
func (l *localMatch) pushOwnDeadlines() {
	if l.state.Phase != PhaseOpen || l.state.ClosesAt <= l.lastDeadline {
		return
	}
	l.lastDeadline = l.state.ClosesAt
	for _, e := range l.state.Extra {
		l.pushOwnDeadline(e.Player)
	}
}

// pushOwnDeadline pushes a player's own deadline if there is one. The caller holds mu.
func (l *localMatch) pushOwnDeadline(player string) {
	own, session := ownDeadlineView(l.plan, l.state, player), l.sessions[player]
	if own != nil && session != nil {
		session.Push(l.plan.ID, protocol.EncodePush(protocol.TypeOwnDeadline, own))
	}
}
