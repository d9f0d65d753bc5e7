package match

import "laststand/internal/protocol"

// frames are consecutive numbered pushes.
type frames struct {
	first int64 // number of the first
	bytes [][]byte
}

// indexAfter is where the frames beyond a number begin, at their end where there are
// none or one before them is missing.
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

// delivery is what is delivered together: frames, what players are told of their
// own, and the state that the frames lead to, nil for none.
type delivery struct {
	frames   frames
	personal personalResults
	state    *State
}

// addStep adds a step: its frames follow on those of the steps before.
func (d *delivery) addStep(f frames, to State) {
	if len(d.frames.bytes) == 0 {
		d.frames.first = f.first
	}
	d.frames.bytes = append(d.frames.bytes, f.bytes...)
	d.state = &to
}

// deliver delivers what follows on what was delivered; false where something
// before it is missing here.
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

// catchUp delivers what a view's frames hold beyond the last delivered, and
// takes its state over. A match that has ended by fewer frames than were seen
// here is another than was seen. The caller holds mu.
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

// pushFrames delivers frames to the sessions, in order and once each: those that do
// not follow on what was delivered are left out. The caller holds mu. Sessions
// are visited from a random one on (map order).
func (l *localMatch) pushFrames(f frames) { l.pushWithPersonal(f, personalResults{}) }

// pushWithPersonal is push that tells players their own behind the frame that it is
// about. The caller holds mu.
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

// adoptState takes a state over, unless a newer one is known. The caller holds mu.
func (l *localMatch) adoptState(s State) {
	switch {
	case s.Phase.hasEnded() && s.EndReason == Abandoned:
		l.endAbandoned()
		return
	case s.Version < l.state.Version:
		return
	case s.Phase.hasEnded() && s.Seq == 0 && !l.state.Phase.hasEnded(): // it never left its lobby
		l.broadcastLocked(lobbyClosedFrame(l.plan, Closed))
	}
	s.Seq = l.state.Seq
	l.state = s
}

// endAbandoned ends a match of which the store has forgotten something: what
// its players here have seen goes on by one number. The caller holds mu.
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

// broadcastLocked hands a frame without a number to every session. The caller holds mu.
func (l *localMatch) broadcastLocked(frame []byte) {
	for _, sub := range l.subs {
		sub.Push("", frame)
	}
}

// broadcast hands frames without a number to every session.
func (l *localMatch) broadcast(frames ...[]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, frame := range frames {
		l.broadcastLocked(frame)
	}
}

// beginAttach keeps the frames that are delivered from now on, until left is called,
// for a session that has seen all up to a number; it gives the number after
// which that session and those here need the log.
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

// framesSince are the frames beyond a number that were delivered since a session has
// joined. The caller holds mu.
func (l *localMatch) framesSince(seq int64) [][]byte {
	all := int64(len(l.recentFrames))
	return l.recentFrames[all-min(max(l.state.Seq-seq, 0), all):]
}

// addSubscriber adds a session to the feed, after what it has not seen: the view's
// frames, and those that were delivered since the view was read. The caller
// holds mu, and has joined before reading.
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
