package match

import "laststand/internal/protocol"

// frames are consecutive numbered pushes.
type frames struct {
	first int64 // number of the first
	bytes [][]byte
}

// after is where the frames beyond a number begin, at their end where there are
// none or one before them is missing.
func (f frames) after(seq int64) int {
	from := seq + 1 - f.first
	if from < 0 || from > int64(len(f.bytes)) {
		return len(f.bytes)
	}
	return int(from)
}

func encode(pushes []protocol.Numbered, first int64) frames {
	f := frames{first: first}
	for i, p := range pushes {
		f.bytes = append(f.bytes, p.Frame(first+int64(i)))
	}
	return f
}

// delivery is what is delivered together: frames, what players are told of their
// own, and the state that the frames lead to, nil for none.
type delivery struct {
	frames frames
	owns   owns
	state  *State
}

// add adds a step: its frames follow on those of the steps before.
func (d *delivery) add(f frames, to State) {
	if len(d.frames.bytes) == 0 {
		d.frames.first = f.first
	}
	d.frames.bytes = append(d.frames.bytes, f.bytes...)
	d.state = &to
}

// receive delivers what follows on what was delivered; false where something
// before it is missing here.
func (l *live) receive(d delivery) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.abandoned() {
		return true
	}
	if len(d.frames.bytes) > 0 && d.frames.first > l.state.Seq+1 {
		return false
	}
	l.pushWith(d.frames, l.due(d.owns))
	if d.state != nil {
		l.moveTo(*d.state)
	}
	return true
}

// catchUp delivers what a view's frames hold beyond the last delivered, and
// takes its state over. A match that has ended by fewer frames than were seen
// here is another than was seen. The caller holds mu.
func (l *live) catchUp(v View) {
	switch {
	case l.abandoned():
		return
	case v.Phase.ended() && 0 < v.Seq && v.Seq <= l.state.Seq:
		l.endAbandoned()
		return
	}
	l.push(frames{first: v.Seq - int64(len(v.Frames)) + 1, bytes: v.Frames})
	l.moveTo(v.State)
}

// push delivers frames to the sessions, in order and once each: those that do
// not follow on what was delivered are left out. The caller holds mu. Sessions
// are visited from a random one on (map order).
func (l *live) push(f frames) { l.pushWith(f, owns{}) }

// pushWith is push that tells players their own behind the frame that it is
// about. The caller holds mu.
func (l *live) pushWith(f frames, o owns) {
	from := f.after(l.state.Seq)
	all := f.bytes[from:]
	l.state.Seq += int64(len(all))
	if l.joining > 0 {
		l.fresh = append(l.fresh, all...)
	}
	behind := max(o.behind-from, 0)
	for player, sub := range l.subs {
		own, told := o.of[player]
		switch {
		case told:
			some := append(make([][]byte, 0, len(all)+1), all[:behind]...)
			sub.Push(l.plan.ID, append(append(some, own), all[behind:]...)...)
		case len(all) > 0:
			sub.Push(l.plan.ID, all...)
		}
	}
}

// moveTo takes a state over, unless a newer one is known. The caller holds mu.
func (l *live) moveTo(s State) {
	switch {
	case s.Phase.ended() && s.Ending == Abandoned:
		l.endAbandoned()
		return
	case s.Version < l.state.Version:
		return
	case s.Phase.ended() && s.Seq == 0 && !l.state.Phase.ended(): // it never left its lobby
		l.tell(lobbyClosed(l.plan, Closed))
	}
	s.Seq = l.state.Seq
	l.state = s
}

// endAbandoned ends a match of which the store has forgotten something: what
// its players here have seen goes on by one number. The caller holds mu.
func (l *live) endAbandoned() {
	if l.state.Phase.ended() {
		return
	}
	if l.state.Seq == 0 {
		l.tell(lobbyClosed(l.plan, Abandoned))
	} else {
		seq := l.state.Seq + 1
		l.push(frames{first: seq, bytes: [][]byte{abandoned(l.plan).Frame(seq)}})
	}
	l.state.Phase, l.state.Ending = Over, Abandoned
}

// tell hands a frame without a number to every session. The caller holds mu.
func (l *live) tell(frame []byte) {
	for _, sub := range l.subs {
		sub.Push("", frame)
	}
}

// tellAll hands frames without a number to every session.
func (l *live) tellAll(frames ...[]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, frame := range frames {
		l.tell(frame)
	}
}

// join keeps the frames that are delivered from now on, until left is called,
// for a session that has seen all up to a number; it gives the number after
// which that session and those here need the log.
func (l *live) join(after int64) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.joining++
	return min(after, l.state.Seq)
}

func (l *live) joined() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.joining--; l.joining == 0 {
		l.fresh = nil
	}
}

// since are the frames beyond a number that were delivered since a session has
// joined. The caller holds mu.
func (l *live) since(seq int64) [][]byte {
	all := int64(len(l.fresh))
	return l.fresh[all-min(max(l.state.Seq-seq, 0), all):]
}

// attach adds a session to the feed, after what it has not seen: the view's
// frames, and those that were delivered since the view was read. The caller
// holds mu, and has joined before reading.
func (l *live) attach(a Attachment, v View) {
	l.subs[a.Player] = a.Sub
	first := v.Seq - int64(len(v.Frames)) + 1
	for i, frame := range v.Frames {
		if first+int64(i) > a.After {
			a.Sub.Push(l.plan.ID, frame)
		}
	}
	if l.abandoned() {
		if v.Seq > 0 && (v.Ending == Abandoned || !v.Phase.ended()) {
			a.Sub.Push(l.plan.ID, abandoned(l.plan).Frame(max(a.After, v.Seq)+1))
		}
		return
	}
	for _, frame := range l.since(v.Seq) {
		a.Sub.Push(l.plan.ID, frame)
	}
}
