package match

import (
	"context"
	"slices"
	"sync"
)

const (
	// maxDirectReadFrames is the longest gap that a session's own read fills.
	// Longer gaps are filled from the copy of the log that all local sessions
	// share.
	maxOwnReadFrames = 8
	// maxReplayBytes limits the copies of a node. Above it all copies are
	// dropped; they are read again when needed.
	maxReplayBytes = 64 << 20
)

// replay is this node's copy of a match's log. It is read when first needed.
type replay struct {
	loading chan struct{} // held during the read of the log

	mu     sync.Mutex
	frames [][]byte // all pushes from number 1 on
	bytes  int64
	closed bool // true: the node has dropped the match
}

// framesBetween returns the frames after one number up to another, and the
// total number of frames. ok is false if some are missing.
func (r *replay) framesBetween(after, to int64) (part [][]byte, all int64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all = int64(len(r.frames))
	if to > all {
		return nil, all, false
	}
	return r.frames[after:to:to], all, true
}

// appendFrames appends the frames that follow a number. It returns the added
// bytes, or 0 if the copy has changed in between.
func (r *replay) appendFrames(after int64, frames [][]byte) (grown int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || int64(len(r.frames)) != after {
		return 0
	}
	r.frames = append(r.frames, frames...)
	grown = sizeOf(frames)
	r.bytes += grown
	return grown
}

// clear drops the copy and returns its size in bytes.
func (r *replay) clear(closed bool) (freed int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	freed, r.frames, r.bytes, r.closed = r.bytes, nil, 0, r.closed || closed
	return freed
}

func sizeOf(frames [][]byte) (n int64) {
	for _, f := range frames {
		n += int64(len(f))
	}
	return n
}

// replayFrames returns the frames after a number up to the last one delivered
// here, from the shared copy. It returns none if they are few or unavailable;
// the caller's own read then returns them.
func (e *Engine) replayFrames(ctx context.Context, l *localMatch, after int64) [][]byte {
	l.mu.Lock()
	to, abandoned := l.state.Seq, l.isAbandoned()
	l.mu.Unlock()
	if abandoned || after < 0 || to-after <= maxOwnReadFrames {
		return nil
	}
	if part, _, ok := l.replay.framesBetween(after, to); ok {
		return part
	}
	select {
	case l.replay.loading <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	defer func() { <-l.replay.loading }()
	part, kept, ok := l.replay.framesBetween(after, to)
	if ok {
		return part
	}
	v, err := e.Store.Read(ctx, ReadQuery{Match: l.plan.ID, After: kept, SeenVersion: l.knownVersion()})
	if err != nil || v.Seq-int64(len(v.Frames)) != kept || v.Seq < to {
		return nil
	}
	e.countReplayBytes(l.replay.appendFrames(kept, v.Frames))
	part, _, _ = l.replay.framesBetween(after, to)
	return part
}

// countReplayBytes adds to the size of all copies and drops them all above
// maxReplayBytes.
func (e *Engine) countReplayBytes(grown int64) {
	if e.replayBytes.Add(grown) <= maxReplayBytes {
		return
	}
	for _, l := range e.filterLocal(func(*localMatch) bool { return true }) {
		e.replayBytes.Add(-l.replay.clear(false))
	}
}

// prependFrames puts frames of the shared copy before those of a view that was
// read after them. If the log has expired or was set back, it changes nothing.
func (v *View) prependFrames(earlier [][]byte, after int64) {
	if len(earlier) > 0 && v.Seq-int64(len(v.Frames)) == after {
		v.Frames = slices.Concat(earlier, v.Frames)
	}
}

// bytesAfter returns the size of a view's frames after a number.
func (v *View) bytesAfter(after int64) int64 {
	skip := after - (v.Seq - int64(len(v.Frames)))
	return sizeOf(v.Frames[min(max(skip, 0), int64(len(v.Frames))):])
}
