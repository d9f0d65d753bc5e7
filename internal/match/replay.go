package match

import (
	"context"
	"slices"
	"sync"
)

const (
	// fewFrames is the longest gap that a session's own read fills. Longer ones
	// are filled from the copy of the log that all sessions here share.
	fewFrames = 8
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

// between gives the frames after one number up to another, and how many there
// are in all; ok is false where some are missing.
func (r *replay) between(after, to int64) (some [][]byte, all int64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all = int64(len(r.frames))
	if to > all {
		return nil, all, false
	}
	return r.frames[after:to:to], all, true
}

// add appends the frames that follow on a number and gives the bytes that the
// copy has grown by; 0 where it has changed meanwhile.
func (r *replay) add(after int64, frames [][]byte) (grown int64) {
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

// replayed gives the frames after a number up to the last one delivered here,
// from the shared copy. It gives none where they are few or cannot be had: then
// the caller's own read tells what there is.
func (e *Engine) replayed(ctx context.Context, l *live, after int64) [][]byte {
	l.mu.Lock()
	to, abandoned := l.state.Seq, l.abandoned()
	l.mu.Unlock()
	if abandoned || after < 0 || to-after <= fewFrames {
		return nil
	}
	if some, _, ok := l.replay.between(after, to); ok {
		return some
	}
	select {
	case l.replay.loading <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	defer func() { <-l.replay.loading }()
	some, have, ok := l.replay.between(after, to)
	if ok {
		return some
	}
	v, err := e.Store.Read(ctx, ReadQuery{Match: l.plan.ID, After: have, Seen: l.seen()})
	if err != nil || v.Seq-int64(len(v.Frames)) != have || v.Seq < to {
		return nil
	}
	e.keepReplay(l.replay.add(have, v.Frames))
	some, _, _ = l.replay.between(after, to)
	return some
}

// keepReplay counts what a copy has grown by.
func (e *Engine) keepReplay(grown int64) {
	if e.replayBytes.Add(grown) <= maxReplayBytes {
		return
	}
	for _, l := range e.those(func(*live) bool { return true }) {
		e.replayBytes.Add(-l.replay.clear(false))
	}
}

// prefix puts frames of the shared copy before those of a view that was read
// after them. Where the log has expired or was set back, it leaves the view.
func (v *View) prefix(old [][]byte, after int64) {
	if len(old) > 0 && v.Seq-int64(len(v.Frames)) == after {
		v.Frames = slices.Concat(old, v.Frames)
	}
}

// beyond is the size of a view's frames after a number.
func (v *View) beyond(after int64) int64 {
	skip := after - (v.Seq - int64(len(v.Frames)))
	return sizeOf(v.Frames[min(max(skip, 0), int64(len(v.Frames))):])
}
