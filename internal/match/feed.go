package match

import "laststand/internal/protocol"

// frames are consecutive numbered pushes.
type frames struct {
	first int64 // number of the first frame
	bytes [][]byte
}

// indexAfter returns the index of the first frame after a number. It returns
// the length if there is none or if an earlier frame is missing.
func (f frames) indexAfter(seq int64) int {
	from := seq + 1 - f.first
	if from < 0 || from > int64(len(f.bytes)) {
		return len(f.bytes)
	}
	return int(from)
}

func encodeFrames(pushes []protocol.Numbered, first int64) frames {
	f := frames{first: first}
	for i, p := range pushes {
		f.bytes = append(f.bytes, p.Frame(first+int64(i)))
	}
	return f
}

// delivery is what the sessions at this node get as one unit: frames, personal
// results, and the state after the frames. The state is nil if it is unchanged.
type delivery struct {
	frames   frames
	personal personalResults
	state    *State
}

// addStep adds the frames of a step after those of earlier steps.
func (d *delivery) addStep(f frames, to State) {
	if len(d.frames.bytes) == 0 {
		d.frames.first = f.first
	}
	d.frames.bytes = append(d.frames.bytes, f.bytes...)
	d.state = &to
}

// deliver pushes what follows the last delivered push. It returns false if
// pushes in between are missing here.
func (l *localMatch) deliver(d delivery) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isAbandoned() {
		return true
	}
	if len(d.frames.bytes) > 0 && d.frames.first > l.state.Seq+1 {
		return false
	}
	l.pushWithPersonal(d.frames, l.claimPersonal(d.personal))
	if d.state != nil {
		l.adoptState(*d.state)
	}
	return true
}

// catchUp pushes the frames of a view that were not delivered yet and adopts
// its state. If the match ended with fewer frames than were delivered here, the
// store has lost data. The caller holds mu.
func (l *localMatch) catchUp(v View) {
	switch {
	case l.isAbandoned():
		return
	case v.Phase.hasEnded() && 0 < v.Seq && v.Seq <= l.state.Seq:
		l.endAbandoned()
		return
	}
	l.pushFrames(frames{first: v.Seq - int64(len(v.Frames)) + 1, bytes: v.Frames})
	l.adoptState(v.State)
}

// pushFrames delivers frames to the sessions, in order and once each. It skips
// frames that were delivered before. The order of the sessions is random (map
// order). The caller holds mu.
func (l *localMatch) pushFrames(f frames) { l.pushWithPersonal(f, personalResults{}) }

// pushWithPersonal works like pushFrames and inserts each player's personal
// result after the frame that it belongs to. The caller holds mu.
func (l *localMatch) pushWithPersonal(f frames, o personalResults) {
	from := f.indexAfter(l.state.Seq)
	all := f.bytes[from:]
	l.state.Seq += int64(len(all))
	if l.attaching > 0 {
		l.recentFrames = append(l.recentFrames, all...)
	}
	position := max(o.position-from, 0)
	for player, sub := range l.subs {
		personal, hasPersonal := o.byPlayer[player]
		switch {
		case hasPersonal:
			mixed := append(make([][]byte, 0, len(all)+1), all[:position]...)
			sub.Push(l.plan.ID, append(append(mixed, personal), all[position:]...)...)
		case len(all) > 0:
			sub.Push(l.plan.ID, all...)
		}
	}
}

// adoptState stores a state as the known one, unless a newer one is known. The caller holds
// mu.
func (l *localMatch) adoptState(s State) {
	switch {
	case s.Phase.hasEnded() && s.EndReason == Abandoned:
		l.endAbandoned()
		return
	case s.Version < l.state.Version:
		return
	case s.Phase.hasEnded() && s.Seq == 0 && !l.state.Phase.hasEnded(): // it ended in the lobby
		l.broadcastLocked(lobbyClosedFrame(l.plan, Closed))
	}
	s.Seq = l.state.Seq
	l.state = s
}

// endAbandoned ends a match of which the store has lost data. The final push
// gets the next number after those delivered here. The caller holds mu.
func (l *localMatch) endAbandoned() {
	if l.state.Phase.hasEnded() {
		return
	}
	if l.state.Seq == 0 {
		l.broadcastLocked(lobbyClosedFrame(l.plan, Abandoned))
	} else {
		seq := l.state.Seq + 1
		l.pushFrames(frames{first: seq, bytes: [][]byte{abandonedPush(l.plan).Frame(seq)}})
	}
	l.state.Phase, l.state.EndReason = Over, Abandoned
}

// broadcastLocked pushes a frame without a number to every session. The caller
// holds mu.
func (l *localMatch) broadcastLocked(frame []byte) {
	for _, sub := range l.subs {
		sub.Push("", frame)
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
func (l *localMatch) beginAttach(after int64) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attaching++
	return min(after, l.state.Seq)
}

func (l *localMatch) endAttach() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.attaching--; l.attaching == 0 {
		l.recentFrames = nil
	}
}

// framesSince returns the frames after a number that were delivered since
// startAttaching. The caller holds mu.
func (l *localMatch) framesSince(seq int64) [][]byte {
	all := int64(len(l.recentFrames))
	return l.recentFrames[all-min(max(l.state.Seq-seq, 0), all):]
}

// addSubscriber adds a session. It first pushes the frames that the session has
// not seen: those of the view, then those delivered since the view was read.
// The caller holds mu and has called startAttaching before the read.
func (l *localMatch) addSubscriber(a Attachment, v View) {
	l.subs[a.Player] = a.Sub
	first := v.Seq - int64(len(v.Frames)) + 1
	for i, frame := range v.Frames {
		if first+int64(i) > a.After {
			a.Sub.Push(l.plan.ID, frame)
		}
	}
	if l.isAbandoned() {
		if v.Seq > 0 && (v.EndReason == Abandoned || !v.Phase.hasEnded()) {
			a.Sub.Push(l.plan.ID, abandonedPush(l.plan).Frame(max(a.After, v.Seq)+1))
		}
		return
	}
	for _, frame := range l.framesSince(v.Seq) {
		a.Sub.Push(l.plan.ID, frame)
	}
}
