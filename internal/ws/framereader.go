package ws

import (
	"encoding/binary"
	"errors"
	"sync"
	"unicode/utf8"

	"github.com/gorilla/websocket"

	"laststand/internal/protocol"
)

const (
	controlBit = 8   // set in the kinds of control frames
	maxControl = 125 // bytes of a control frame's payload
	maxHeader  = 14
	// readBufferSize is enough for the largest allowed frame and some bytes of the next.
	readBufferSize = protocol.MaxFrame + 512
)

// readBuffers are the buffers for clients' frames, of type *[readBufferSize]byte.
var readBuffers = sync.Pool{New: func() any { return new([readBufferSize]byte) }}

// frameReader assembles a client's messages from the bytes of the connection (RFC 6455,
// 5). It has a buffer only while bytes are unread. The zero value is ready for use. It is
// not safe for concurrent use.
type frameReader struct {
	buffer      *[readBufferSize]byte
	start, end  int    // the unread bytes are buffer[start:end]
	skip        uint64 // bytes still to read and drop, of a frame that is too large
	messageKind byte   // kind of a message in several frames, 0 if none is under way
	message     []byte // payload so far of that message
}

// The errors of frameReader. After errTooLarge the caller closes the session and uses
// only control frames.
var (
	errFrame    = errors.New("ws: invalid client frame")
	errTooLarge = errors.New("ws: the message is too large")
)

// freeSpace returns the free part of the buffer, to read more bytes into. The caller then
// calls recordRead with the number of bytes read.
func (r *frameReader) space() []byte {
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
func (r *frameReader) added(n int) {
	r.end += n
	if r.skip > 0 {
		skipped := min(r.skip, uint64(r.end-r.start))
		r.start += int(skipped)
		r.skip -= skipped
	}
	r.releaseIfEmpty()
}

// releaseIfEmpty returns the buffer to the pool if no unread bytes are left.
func (r *frameReader) releaseIfEmpty() {
	if r.buffer != nil && r.start == r.end {
		readBuffers.Put(r.buffer)
		r.buffer, r.start, r.end = nil, 0, 0
	}
}

// isMidMessage returns true if a frame or message has started and is not complete.
func (r *frameReader) isMidMessage() bool { return r.buffer != nil || r.messageKind != 0 || r.skip > 0 }

// nextMessage returns the next complete message or control frame. kind is its websocket
// opcode, 0 if none is complete. The payload is valid until the next call of freeSpace or
// releaseIfEmpty.
func (r *frameReader) next() (kind byte, payload []byte, err error) {
	for {
		first, payload, ok, err := r.nextFrame()
		if err != nil || !ok {
			return 0, nil, err
		}
		kind := first &^ finalBit
		switch {
		case kind&controlBit != 0 || first&finalBit != 0 && kind != 0:
			return kind, payload, nil
		case kind != 0:
			r.messageKind = kind
		}
		if len(r.message)+len(payload) > protocol.MaxFrame {
			r.dropMessage(first)
			return 0, nil, errTooLarge
		}
		r.message = append(r.message, payload...)
		if first&finalBit != 0 {
			kind, payload = r.messageKind, r.message
			r.messageKind, r.message = 0, nil
			return kind, payload, nil
		}
	}
}

// nextFrame returns the first byte and the unmasked payload of the next frame; ok is
// false if the frame is not complete.
func (r *frameReader) nextFrame() (first byte, payload []byte, ok bool, err error) {
	if r.end-r.start < 2 {
		return 0, nil, false, nil
	}
	b := r.buffer[r.start:r.end]
	if !r.isAllowedHeader(b[0], b[1]) || isLengthInvalid(b) {
		return 0, nil, false, errFrame
	}
	header, length := frameSize(b)
	if header == 0 {
		return 0, nil, false, nil
	}
	if length > protocol.MaxFrame {
		r.dropMessage(b[0])
		r.skip = length
		r.start += header
		r.added(0)
		return 0, nil, false, errTooLarge
	}
	end := header + int(length)
	if len(b) < end {
		return 0, nil, false, nil
	}
	r.start += end
	payload = b[header:end]
	unmask(payload, binary.LittleEndian.Uint32(b[header-4:]))
	return b[0], payload, true, nil
}

// dropMessage drops the message that is being assembled, because it is too large. It
// still tracks the message's kind, since more frames of it may come. firstByte is the
// first byte of the current frame.
func (r *frameReader) dropMessage(first byte) {
	r.message = nil
	switch {
	case first&finalBit != 0:
		r.messageKind = 0
	case first != 0:
		r.messageKind = first
	}
}

// isAllowedHeader returns true if a frame with these first two bytes may follow the
// frames before it.
func (r *frameReader) isAllowedHeader(first, second byte) bool {
	kind, final := first&0x0f, first&finalBit != 0
	known := false
	switch kind {
	case 0:
		known = r.messageKind != 0
	case websocket.TextMessage, websocket.BinaryMessage:
		known = r.messageKind == 0
	case websocket.CloseMessage, websocket.PingMessage, websocket.PongMessage:
		known = final && second&0x7f <= maxControl
	}
	return known && first&0x70 == 0 && second&0x80 != 0
}

// isLengthInvalid returns true if the frame has a 64-bit length whose first bit is set
// (RFC 6455, 5.2).
func isLengthInvalid(b []byte) bool {
	return b[1]&0x7f == 127 && len(b) >= maxHeader-4 && b[2]&0x80 != 0
}

// frameSize returns the length of a frame's header and of its payload. header is 0 if
// the header is not complete.
func frameSize(b []byte) (header int, length uint64) {
	header, length = 6, uint64(b[1]&0x7f)
	switch length {
	case 126:
		header = 8
	case 127:
		header = maxHeader
	}
	switch {
	case len(b) < header:
		return 0, 0
	case header == 8:
		length = uint64(binary.BigEndian.Uint16(b[2:]))
	case header == maxHeader:
		length = binary.BigEndian.Uint64(b[2:])
	}
	return header, length
}

// unmask removes a client's masking. The key's bytes are in network order, read as
// little endian.
func unmask(b []byte, key uint32) {
	for key64 := uint64(key)<<32 | uint64(key); len(b) >= 8; b = b[8:] {
		binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)^key64)
	}
	for i := range b {
		b[i] ^= byte(key >> (i % 4 * 8))
	}
}

// parseCloseCode returns the code of a client's close frame, 1005 for an empty payload.
func closeCodeOf(payload []byte) (code int, err error) {
	if len(payload) == 0 {
		return websocket.CloseNoStatusReceived, nil
	}
	if len(payload) == 1 || !utf8.Valid(payload[2:]) {
		return 0, errFrame
	}
	code = int(binary.BigEndian.Uint16(payload))
	switch {
	case code >= 3000 && code < 5000, code >= 1000 && code <= 1003, code >= 1007 && code <= 1014:
		return code, nil
	}
	return 0, errFrame
}
