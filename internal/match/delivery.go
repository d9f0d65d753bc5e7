package match

import "laststand/internal/protocol"

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
	encoded := make([][]byte, len(pushes))
	for i, push := range pushes {
		encoded[i] = push.Frame(first + int64(i))
	}
	return numberedFrames{first, encoded}
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

// personalFrames are encoded personal results that are delivered together with the
// reveal. byPlayer is empty if they are sent later.
type personalFrames struct {
	question int
	position int // number of frames of the delivery before them
	byPlayer map[string][]byte
}
