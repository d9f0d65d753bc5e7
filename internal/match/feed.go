package match

import (
	"bytes"
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
	f := numberedFrames{firstSeq: first, encoded: make([][]byte, 0, len(pushes))}
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

// follows reports whether no push is missing before a delivery, if the push with number
// seq was the last one.
func (d *delivery) follows(seq int64) bool {
	return len(d.frames.encoded) == 0 || d.frames.firstSeq <= seq+1
}

// earlyDeliveries are the deliveries of a match that wait for earlier ones, at most
// maxEarlyDeliveries. More are read from the log.
type earlyDeliveries []delivery

const maxEarlyDeliveries = 8

func (e *earlyDeliveries) add(d delivery) {
	if len(*e) < maxEarlyDeliveries {
		*e = append(*e, d)
	}
}

// next removes and returns a delivery that follows push seq, and false if there is none.
func (e *earlyDeliveries) next(seq int64) (delivery, bool) {
	i := slices.IndexFunc(*e, func(d delivery) bool { return d.follows(seq) })
	if i < 0 {
		return delivery{}, false
	}
	found := (*e)[i]
	*e = slices.Delete(*e, i, i+1)
	return found, true
}

// deliver pushes what follows the last delivered push, and then what has waited for it. If
// pushes in between are missing here, the delivery waits for them, and deliver returns
// false. resumed is true if deliveries with a new state had waited.
func (l *localMatch) deliver(delivered delivery) (done, resumed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state.isAbandoned() {
		return true, false
	}
	if !delivered.follows(l.state.Seq) {
		l.early.add(delivered)
		return false, false
	}
	l.push(delivered)
	return true, l.pushEarly()
}

// pushEarly pushes the deliveries that waited for earlier pushes, as far as these were
// delivered. It reports whether one of them had a new state. The caller holds mu.
func (l *localMatch) pushEarly() (changed bool) {
	for next, ok := l.early.next(l.state.Seq); ok; next, ok = l.early.next(l.state.Seq) {
		changed = changed || next.state != nil
		l.push(next)
	}
	return changed
}

// push delivers one unit. The caller holds mu.
func (l *localMatch) push(delivered delivery) {
	if delivered.state != nil {
		l.reportDuelEnd(*delivered.state)
	}
	l.pushFrames(delivered.frames, l.claimFrames(delivered.personal))
	if delivered.state != nil {
		l.adoptState(*delivered.state)
	}
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
	l.pushEarly()
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

// addSession adds a session. It first pushes the frames of the view that the session has
// not seen. The caller holds mu, and no newer frame was delivered here.
func (l *localMatch) addSession(request AttachRequest, view View) {
	l.sessions[request.Player] = request.Session
	if running := !l.state.Phase.hasEnded(); l.plan.Mode == Duel && (running || request.AfterSeq < view.Seq) {
		request.Session.DuelChanged(running)
	}
	first := view.Seq - int64(len(view.Frames)) + 1
	for i, frame := range view.Frames {
		if first+int64(i) > request.AfterSeq {
			request.Session.Push(l.plan.ID, frame)
		}
	}
	if request.OnState == nil {
		l.pushOwnDeadline(request.Player)
	}
	if l.state.isAbandoned() {
		if view.Seq > 0 && (view.EndReason == ReasonAbandoned || !view.Phase.hasEnded()) {
			request.Session.Push(l.plan.ID, abandonedPush(l.plan).Frame(max(request.AfterSeq, view.Seq)+1))
		}
	}
}

// lobbyNoticeIntervalMS is the shortest interval between two notices to the players in an
// arena's lobby.
const lobbyNoticeIntervalMS = 500

// lobbyNotice is the last notice to the players in an arena's lobby.
type lobbyNotice struct {
	version int64 // of the match
	encoded []byte
	sentAt  int64 // cluster time
}

// next returns a notice with the player counts of a lobby if they have changed since the last
// one and it is time for another one, else nil. An equal notice would show that the host has
// done something else.
func (n *lobbyNotice) next(plan *Plan, known State, view View, now int64) []byte {
	if known.Phase != PhaseLobby || view.Phase != PhaseLobby || view.Version <= n.version || now < n.sentAt+lobbyNoticeIntervalMS {
		return nil
	}
	notice := protocol.EncodePush(protocol.TypeArenaLobby, protocol.ArenaLobby{
		ArenaID: plan.Arena.ID, Teams: view.TeamCounts(plan.Arena), Players: view.Players,
	})
	if n.version = view.Version; bytes.Equal(notice, n.encoded) {
		return nil
	}
	n.encoded, n.sentAt = notice, now
	return notice
}
