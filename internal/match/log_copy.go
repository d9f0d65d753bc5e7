package match

import "sync"

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
