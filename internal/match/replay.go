package match

import (
	"context"
	"slices"
	"sync"
)

const (
	// fewFrames is the longest gap that a session's own read fills. Longer ones
	// are filled from the copy of the log that all sessions here share.
	maxOwnReadFrames = 8
	// maxReplayBytes bounds the copies of a node. Over it all are dropped; those
	// that are asked for again are read again.
	maxReplayBytes = 64 << 20
)

// replay is this node's copy of a match's log, read once it is asked for.
type replay struct {
	loading chan struct{} // held while the store is asked

	mu     sync.Mutex
	frames [][]byte // from number 1 on
	bytes  int64
	closed bool // the node has let go of the match
}

// framesBetween gives the frames after one number up to another, and how many there
// are in all; ok is false where some are missing.
func (r *replay) framesBetween(after, to int64) (part [][]byte, all int64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all = int64(len(r.frames))
	if to > all {
		return nil, all, false
	}
	return r.frames[after:to:to], all, true
}

// appendFrames appends the frames that follow on a number and gives the bytes that the
// copy has grown by; 0 where it has changed meanwhile.
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

// clear drops the copy and gives its bytes.
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

// replayFrames gives the frames after a number up to the last one delivered here,
// from the shared copy. It gives none where they are few or cannot be had: then
// the caller's own read tells what there is.
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

// countReplayBytes counts what a copy has grown by.
func (e *Engine) countReplayBytes(grown int64) {
	if e.replayBytes.Add(grown) <= maxReplayBytes {
		return
	}
	for _, l := range e.filterLocal(func(*localMatch) bool { return true }) {
		e.replayBytes.Add(-l.replay.clear(false))
	}
}

// prependFrames puts frames of the shared copy before those of a view that was read
// after them. Where the log has expired or was set back, it leaves the view.
func (v *View) prependFrames(earlier [][]byte, after int64) {
	if len(earlier) > 0 && v.Seq-int64(len(v.Frames)) == after {
		v.Frames = slices.Concat(earlier, v.Frames)
	}
}

// bytesAfter is the size of a view's frames after a number.
func (v *View) bytesAfter(after int64) int64 {
	skip := after - (v.Seq - int64(len(v.Frames)))
	return sizeOf(v.Frames[min(max(skip, 0), int64(len(v.Frames))):])
}
