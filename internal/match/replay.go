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
	maxDirectReadFrames = 8
	// maxReplayBytes limits the copies of a node. Above it all copies are
	// dropped; they are read again when needed.
	maxReplayBytes = 64 << 20
)

// logCopy is this node's copy of a match's log. It is read when first needed.
type logCopy struct {
	loading chan struct{} // held during the read of the log

	mu           sync.Mutex
	storedFrames [][]byte // all pushes from number 1 on
	sizeBytes    int64
	closed       bool // true: the node has dropped the match
}

// framesBetween returns the frames after one number up to another, and the
// total number of frames. ok is false if some are missing.
func (r *logCopy) framesBetween(after, newState int64) (part [][]byte, storedCount int64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	storedCount = int64(len(r.storedFrames))
	if newState > storedCount {
		return nil, storedCount, false
	}
	return r.storedFrames[after:newState:newState], storedCount, true
}

// appendFrames appends the frames that follow a number. It returns the added
// bytes, or 0 if the copy has changed in between.
func (r *logCopy) appendFrames(after int64, frames [][]byte) (addedBytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || int64(len(r.storedFrames)) != after {
		return 0
	}
	r.storedFrames = append(r.storedFrames, frames...)
	addedBytes = totalBytes(frames)
	r.sizeBytes += addedBytes
	return addedBytes
}

// clear drops the copy and returns its size in bytes.
func (r *logCopy) clear(closed bool) (freedBytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	freedBytes, r.storedFrames, r.sizeBytes, r.closed = r.sizeBytes, nil, 0, r.closed || closed
	return freedBytes
}

func totalBytes(frames [][]byte) (n int64) {
	for _, f := range frames {
		n += int64(len(f))
	}
	return n
}

// replayFrames returns the frames after a number up to the last one delivered
// here, from the shared copy. It returns none if they are few or unavailable;
// the caller's own read then returns them.
func (e *Engine) replayFrames(ctx context.Context, local *localMatch, after int64) [][]byte {
	local.mu.Lock()
	newState, abandoned := local.state.Seq, local.isAbandoned()
	local.mu.Unlock()
	if abandoned || after < 0 || newState-after <= maxDirectReadFrames {
		return nil
	}
	if part, _, ok := local.replay.framesBetween(after, newState); ok {
		return part
	}
	select {
	case local.replay.loading <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	defer func() { <-local.replay.loading }()
	part, storedCount, ok := local.replay.framesBetween(after, newState)
	if ok {
		return part
	}
	view, err := e.Store.Read(ctx, ReadQuery{Match: local.plan.ID, AfterSeq: storedCount, SeenVersion: local.knownVersion()})
	if err != nil || view.Seq-int64(len(view.Frames)) != storedCount || view.Seq < newState {
		return nil
	}
	e.countReplayBytes(local.replay.appendFrames(storedCount, view.Frames))
	part, _, _ = local.replay.framesBetween(after, newState)
	return part
}

// countReplayBytes adds to the size of all copies and drops them all above
// maxReplayBytes.
func (e *Engine) countReplayBytes(addedBytes int64) {
	if e.replayBytes.Add(addedBytes) <= maxReplayBytes {
		return
	}
	for _, local := range e.filterLocalMatches(func(*localMatch) bool { return true }) {
		e.replayBytes.Add(-local.replay.clear(false))
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
	return totalBytes(v.Frames[min(max(skip, 0), int64(len(v.Frames))):])
}
