package wsconn

import (
	"encoding/binary"
	"errors"
	"sync"
	"unicode/utf8"

	"laststand/internal/protocol"
)

// Kind is the kind of a message: its opcode (RFC 6455, 5.2).
type Kind byte

// The kinds of messages.
const (
	Text   Kind = 1
	Binary Kind = 2
	Ping   Kind = 9
	Pong   Kind = 10

	continuation Kind = 0
	closeFrame   Kind = 8
)

// Message is a complete message of the client. Payload is valid until the next call of
// ReadMessage.
type Message struct {
	Kind    Kind
	Payload []byte
}

var (
	// ErrInvalidFrame means that the client broke the protocol.
	ErrInvalidFrame = errors.New("wsconn: invalid client frame")
	// ErrTooLarge means that a message is larger than protocol.MaxFrame.
	ErrTooLarge = errors.New("wsconn: the message is too large")
)

const (
	finalBit          = 0x80 // marks the last or only frame of a message
	reservedBits      = 0x70
	maskBit           = 0x80
	controlBit   Kind = 8 // set in the kinds of control frames

	maxControlPayload = 125 // bytes of a control frame's payload
	maskKeySize       = 4
	maxHeaderSize     = 14
	noStatus          = 1005 // stands for a close frame without a code

	// readBufferSize is enough for the largest allowed frame and some bytes of the next.
	readBufferSize = protocol.MaxFrame + 512
)

// readBuffers are the buffers for clients' frames, of type *[readBufferSize]byte.
var readBuffers = sync.Pool{New: func() any { return new([readBufferSize]byte) }}

// frameReader assembles a client's messages from the bytes of the connection (RFC 6455,
// 5). It has a buffer only while bytes are unread. The zero value is ready for use. It is
// not safe for concurrent use, and not usable after an error.
type frameReader struct {
	buffer      *[readBufferSize]byte
	start, end  int    // the unread bytes are buffer[start:end]
	messageKind Kind   // kind of a message in several frames, 0 if none is under way
	message     []byte // payload so far of that message
}

// freeSpace returns the free part of the buffer, to read more bytes into. The caller then
// calls recordRead with the number of bytes read.
func (r *frameReader) freeSpace() []byte {
	if r.buffer == nil {
		r.buffer = readBuffers.Get().(*[readBufferSize]byte)
	}
	if r.start > 0 {
		r.end = copy(r.buffer[:], r.buffer[r.start:r.end])
		r.start = 0
	}
	return r.buffer[r.end:]
}

// recordRead notes that n bytes were read into freeSpace.
func (r *frameReader) recordRead(n int) {
	r.end += n
	r.releaseIfEmpty()
}

// releaseIfEmpty returns the buffer to the pool if no unread bytes are left.
func (r *frameReader) releaseIfEmpty() {
	if r.buffer != nil && r.start == r.end {
		readBuffers.Put(r.buffer)
		r.buffer, r.start, r.end = nil, 0, 0
	}
}

// isFragmented returns true if a message in several frames has started and is not
// complete.
func (r *frameReader) isFragmented() bool { return r.messageKind != 0 }

// isMidMessage returns true if a frame or message has started and is not complete.
func (r *frameReader) isMidMessage() bool { return r.buffer != nil || r.isFragmented() }

// nextMessage returns the next complete message or control frame, with Kind 0 if none is
// complete. The payload is valid until the next call of freeSpace or releaseIfEmpty.
func (r *frameReader) nextMessage() (Message, error) {
	for {
		firstByte, payload, err := r.nextFrame()
		if err != nil || payload == nil {
			return Message{}, err
		}
		kind, isFinal := Kind(firstByte&^finalBit), firstByte&finalBit != 0
		if kind&controlBit != 0 || isFinal && kind != continuation {
			return Message{kind, payload}, nil
		}
		if kind != continuation {
			r.messageKind = kind
		}
		if len(r.message)+len(payload) > protocol.MaxFrame {
			return Message{}, ErrTooLarge
		}
		r.message = append(r.message, payload...)
		if isFinal {
			message := Message{r.messageKind, r.message}
			r.messageKind, r.message = 0, nil
			return message, nil
		}
	}
}

// nextFrame returns the first byte and the unmasked payload of the next frame. The payload
// is nil if the frame is not complete.
func (r *frameReader) nextFrame() (firstByte byte, payload []byte, err error) {
	if r.end-r.start < 2 {
		return 0, nil, nil
	}
	unread := r.buffer[r.start:r.end]
	if !r.isAllowedHeader(unread[0], unread[1]) {
		return 0, nil, ErrInvalidFrame
	}
	header, length := frameSize(unread)
	switch {
	case header == 0:
		return 0, nil, nil
	case length>>63 != 0:
		return 0, nil, ErrInvalidFrame
	case length > protocol.MaxFrame:
		return 0, nil, ErrTooLarge
	case len(unread) < header || uint64(len(unread)-header) < length:
		return 0, nil, nil
	}
	end := header + int(length)
	r.start += end
	payload = unread[header:end]
	unmask(payload, binary.LittleEndian.Uint32(unread[header-maskKeySize:]))
	return unread[0], payload, nil
}

// isAllowedHeader returns true if a frame with these first two bytes may follow the
// frames before it.
func (r *frameReader) isAllowedHeader(firstByte, secondByte byte) bool {
	isKindAllowed := false
	switch Kind(firstByte & 0x0f) {
	case continuation:
		isKindAllowed = r.isFragmented()
	case Text, Binary:
		isKindAllowed = !r.isFragmented()
	case closeFrame, Ping, Pong:
		isKindAllowed = firstByte&finalBit != 0 && secondByte&^maskBit <= maxControlPayload
	}
	return isKindAllowed && firstByte&reservedBits == 0 && secondByte&maskBit != 0
}

// frameSize returns the length of a frame's header and of its payload. header is 0 while
// the length of the payload is unknown. The mask key, which ends the header, may be missing.
func frameSize(unread []byte) (header int, length uint64) {
	header, length = 6, uint64(unread[1]&^maskBit)
	switch length {
	case 126:
		header = 8
	case 127:
		header = maxHeaderSize
	}
	switch {
	case len(unread) < header-maskKeySize:
		return 0, 0
	case header == 8:
		length = uint64(binary.BigEndian.Uint16(unread[2:]))
	case header == maxHeaderSize:
		length = binary.BigEndian.Uint64(unread[2:])
	}
	return header, length
}

// unmask removes a client's masking. The key's bytes are in network order, read as
// little endian.
func unmask(payload []byte, key uint32) {
	for key64 := uint64(key)<<32 | uint64(key); len(payload) >= 8; payload = payload[8:] {
		binary.LittleEndian.PutUint64(payload, binary.LittleEndian.Uint64(payload)^key64)
	}
	for i := range payload {
		payload[i] ^= byte(key >> (i % 4 * 8))
	}
}

// parseCloseCode returns the code of a client's close frame, noStatus for an empty payload.
func parseCloseCode(payload []byte) (code int, err error) {
	if len(payload) == 0 {
		return noStatus, nil
	}
	if len(payload) == 1 || !utf8.Valid(payload[2:]) {
		return 0, ErrInvalidFrame
	}
	code = int(binary.BigEndian.Uint16(payload))
	switch {
	case code >= 3000 && code < 5000, code >= 1000 && code <= 1003, code >= 1007 && code <= 1014:
		return code, nil
	}
	return 0, ErrInvalidFrame
}
