package ws

// progress follows a client's frames as their bytes pass, and knows whether a message
// has begun that has not come to its end (RFC 6455, 5.2). The zero value awaits
// the first frame. What is no frame leads to nothing but a wrong answer.
type progress struct {
	left  uint64 // of the payload, once its length is known
	first byte   // of the frame
	part  part
	more  uint8 // bytes of the part, where that is the length or the key
	keyed bool
	open  bool // a message of several frames has not had its last
}

// part is what comes next of a frame.
type part uint8

const (
	theFirst part = iota
	theSecond
	theLength
	theKey
	thePayload
)

const (
	controlBit = 0x08 // of opcodes
	keyedBit   = 0x80
	keyBytes   = 4
)

// amid says whether something has begun.
func (f *progress) amid() bool { return f.part != theFirst || f.open }

// pass takes the next bytes, and says whether a message has ended among them, or a
// control frame that stood by itself: those between the frames of a message end
// nothing.
func (f *progress) pass(b []byte) (ended bool) {
	for len(b) > 0 {
		if f.part == thePayload {
			n := min(f.left, uint64(len(b)))
			b, f.left = b[n:], f.left-n
		} else {
			f.head(b[0])
			b = b[1:]
		}
		if f.part == thePayload && f.left == 0 {
			ended = f.end() || ended
		}
	}
	return ended
}

// head takes a byte before the payload.
func (f *progress) head(b byte) {
	switch f.part {
	case theFirst:
		f.first, f.part = b, theSecond
	case theSecond:
		f.keyed, f.left, f.part = b&keyedBit != 0, uint64(b&^keyedBit), theLength
		switch f.left {
		case 126:
			f.left, f.more = 0, 2
		case 127:
			f.left, f.more = 0, 8
		}
	case theLength:
		f.left = f.left<<8 | uint64(b)
		f.more--
	default:
		f.more--
	}
	if f.part == theLength && f.more == 0 && f.keyed {
		f.part, f.more = theKey, keyBytes
		return
	}
	if f.part >= theLength && f.more == 0 {
		f.part = thePayload
	}
}

// end ends a frame.
func (f *progress) end() (message bool) {
	f.part = theFirst
	if f.first&controlBit == 0 {
		f.open = f.first&finalBit == 0
	}
	return !f.open
}
