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
	controlFrameBit   = 8   // set in the kinds of control frames
	maxControlPayload = 125 // bytes of a control frame's payload
	maxHeaderSize     = 14
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
	skipBytes   uint64 // bytes still to read and drop, of a frame that is too large
	messageKind byte   // kind of a message in several frames, 0 if none is under way
	message     []byte // payload so far of that message
}

// The errors of frameReader. After errTooLarge the caller closes the session and uses
// only control frames.
var (
	errInvalidFrame = errors.New("ws: invalid client frame")
	errTooLarge     = errors.New("ws: the message is too large")
)

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
	if r.skipBytes > 0 {
		skipped := min(r.skipBytes, uint64(r.end-r.start))
		r.start += int(skipped)
		r.skipBytes -= skipped
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
func (r *frameReader) isMidMessage() bool {
	return r.buffer != nil || r.messageKind != 0 || r.skipBytes > 0
}

// nextMessage returns the next complete message or control frame. kind is its websocket
// opcode, 0 if none is complete. The payload is valid until the next call of freeSpace or
// releaseIfEmpty.
func (r *frameReader) nextMessage() (kind byte, payload []byte, err error) {
	for {
		firstByte, payload, ok, err := r.nextFrame()
		if err != nil || !ok {
			return 0, nil, err
		}
		kind := firstByte &^ finalBit
		switch {
		case kind&controlFrameBit != 0 || firstByte&finalBit != 0 && kind != 0:
			return kind, payload, nil
		case kind != 0:
			r.messageKind = kind
		}
		if len(r.message)+len(payload) > protocol.MaxFrame {
			r.dropMessage(firstByte)
			return 0, nil, errTooLarge
		}
		r.message = append(r.message, payload...)
		if firstByte&finalBit != 0 {
			kind, payload = r.messageKind, r.message
			r.messageKind, r.message = 0, nil
			return kind, payload, nil
		}
	}
}

// nextFrame returns the first byte and the unmasked payload of the next frame; ok is
// false if the frame is not complete.
func (r *frameReader) nextFrame() (firstByte byte, payload []byte, ok bool, err error) {
	if r.end-r.start < 2 {
		return 0, nil, false, nil
	}
	unread := r.buffer[r.start:r.end]
	if !r.isAllowedHeader(unread[0], unread[1]) || isLengthInvalid(unread) {
		return 0, nil, false, errInvalidFrame
	}
	header, length := frameSize(unread)
	if header == 0 {
		return 0, nil, false, nil
	}
	if length > protocol.MaxFrame {
		r.dropMessage(unread[0])
		r.skipBytes = length
		r.start += header
		r.recordRead(0)
		return 0, nil, false, errTooLarge
	}
	end := header + int(length)
	if len(unread) < end {
		return 0, nil, false, nil
	}
	r.start += end
	payload = unread[header:end]
	unmask(payload, binary.LittleEndian.Uint32(unread[header-4:]))
	return unread[0], payload, true, nil
}

// dropMessage drops the message that is being assembled, because it is too large. It
// still tracks the message's kind, since more frames of it may come. firstByte is the
// first byte of the current frame.
func (r *frameReader) dropMessage(firstByte byte) {
	r.message = nil
	switch {
	case firstByte&finalBit != 0:
		r.messageKind = 0
	case firstByte != 0:
		r.messageKind = firstByte
	}
}

// isAllowedHeader returns true if a frame with these first two bytes may follow the
// frames before it.
func (r *frameReader) isAllowedHeader(firstByte, secondByte byte) bool {
	kind, final := firstByte&0x0f, firstByte&finalBit != 0
	kindAllowed := false
	switch kind {
	case 0:
		kindAllowed = r.messageKind != 0
	case websocket.TextMessage, websocket.BinaryMessage:
		kindAllowed = r.messageKind == 0
	case websocket.CloseMessage, websocket.PingMessage, websocket.PongMessage:
		kindAllowed = final && secondByte&0x7f <= maxControlPayload
	}
	return kindAllowed && firstByte&0x70 == 0 && secondByte&0x80 != 0
}

// isLengthInvalid returns true if the frame has a 64-bit length whose first bit is set
// (RFC 6455, 5.2).
func isLengthInvalid(header []byte) bool {
	return header[1]&0x7f == 127 && len(header) >= maxHeaderSize-4 && header[2]&0x80 != 0
}

// frameSize returns the length of a frame's header and of its payload. header is 0 if
// the header is not complete.
func frameSize(unread []byte) (header int, length uint64) {
	header, length = 6, uint64(unread[1]&0x7f)
	switch length {
	case 126:
		header = 8
	case 127:
		header = maxHeaderSize
	}
	switch {
	case len(unread) < header:
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

// parseCloseCode returns the code of a client's close frame, 1005 for an empty payload.
func parseCloseCode(payload []byte) (code int, err error) {
	if len(payload) == 0 {
		return websocket.CloseNoStatusReceived, nil
	}
	if len(payload) == 1 || !utf8.Valid(payload[2:]) {
		return 0, errInvalidFrame
	}
	code = int(binary.BigEndian.Uint16(payload))
	switch {
	case code >= 3000 && code < 5000, code >= 1000 && code <= 1003, code >= 1007 && code <= 1014:
		return code, nil
	}
	return 0, errInvalidFrame
}
