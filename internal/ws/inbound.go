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
	controlBit    = 8   // of the kinds of control frames
	maxControl    = 125 // bytes of their payload
	largestHeader = 14
	// roomIn holds any frame that is not too large, and a bit of the next.
	roomIn = protocol.MaxFrame + 512
)

// incoming are what clients' frames are read into, *[roomIn]byte.
var incoming = sync.Pool{New: func() any { return new([roomIn]byte) }}

// inbound puts the messages of a client together, in whatever pieces they come
// (RFC 6455, 5). While nothing has come that was not dealt with it holds no
// buffer. The zero value is ready for use.
type inbound struct {
	buffer   *[roomIn]byte
	from, to int    // what is there of it
	skip     uint64 // bytes of a frame that is too large, still to come
	kind     byte   // of a message that comes in several frames; 0: none is under way
	parts    []byte // of that message
}

// The faults of frames. After what is too large only control frames are of account.
var (
	errFrame    = errors.New("ws: this is no frame of a client's")
	errTooLarge = errors.New("ws: the message is too large")
)

// room is where more is read to; grew says how much has come there.
func (in *inbound) room() []byte {
	if in.buffer == nil {
		in.buffer = incoming.Get().(*[roomIn]byte)
	}
	if in.from > 0 {
		in.to = copy(in.buffer[:], in.buffer[in.from:in.to])
		in.from = 0
	}
	return in.buffer[in.to:]
}

func (in *inbound) grew(n int) {
	in.to += n
	if in.skip > 0 {
		over := min(in.skip, uint64(in.to-in.from))
		in.from += int(over)
		in.skip -= over
	}
	in.tidy()
}

// tidy gives the buffer back where all has been dealt with.
func (in *inbound) tidy() {
	if in.buffer != nil && in.from == in.to {
		incoming.Put(in.buffer)
		in.buffer, in.from, in.to = nil, 0, 0
	}
}

// amid says whether something has begun and not come to its end.
func (in *inbound) amid() bool { return in.buffer != nil || in.kind != 0 || in.skip > 0 }

// next takes out the next message, or control frame, that is there whole; kind 0
// for none. What it gives is good until room or tidy is called.
func (in *inbound) next() (kind byte, payload []byte, err error) {
	for {
		first, payload, whole, err := in.frame()
		if err != nil || !whole {
			return 0, nil, err
		}
		kind := first &^ finalBit
		switch {
		case kind&controlBit != 0 || first&finalBit != 0 && kind != 0:
			return kind, payload, nil
		case kind != 0:
			in.kind = kind
		}
		if len(in.parts)+len(payload) > protocol.MaxFrame {
			in.spoil(first)
			return 0, nil, errTooLarge
		}
		in.parts = append(in.parts, payload...)
		if first&finalBit != 0 {
			kind, payload = in.kind, in.parts
			in.kind, in.parts = 0, nil
			return kind, payload, nil
		}
	}
}

// frame takes out the next frame, its first byte and its payload, where it is
// whole.
func (in *inbound) frame() (first byte, payload []byte, whole bool, err error) {
	if in.to-in.from < 2 {
		return 0, nil, false, nil
	}
	b := in.buffer[in.from:in.to]
	if !in.fits(b[0], b[1]) || beyond(b) {
		return 0, nil, false, errFrame
	}
	header, length := measure(b)
	if header == 0 {
		return 0, nil, false, nil
	}
	if length > protocol.MaxFrame {
		in.spoil(b[0])
		in.skip = length
		in.from += header
		in.grew(0)
		return 0, nil, false, errTooLarge
	}
	end := header + int(length)
	if len(b) < end {
		return 0, nil, false, nil
	}
	in.from += end
	payload = b[header:end]
	unmask(payload, binary.LittleEndian.Uint32(b[header-4:]))
	return b[0], payload, true, nil
}

// spoil drops the message under way, of which there may be more to come.
func (in *inbound) spoil(first byte) {
	in.parts = nil
	switch {
	case first&finalBit != 0:
		in.kind = 0
	case first != 0:
		in.kind = first
	}
}

// fits says whether a frame may begin with two bytes, after those before it.
func (in *inbound) fits(first, second byte) bool {
	kind, final := first&0x0f, first&finalBit != 0
	known := false
	switch kind {
	case 0:
		known = in.kind != 0
	case websocket.TextMessage, websocket.BinaryMessage:
		known = in.kind == 0
	case websocket.CloseMessage, websocket.PingMessage, websocket.PongMessage:
		known = final && second&0x7f <= maxControl
	}
	return known && first&0x70 == 0 && second&0x80 != 0
}

// beyond says whether a frame tells of a length that no frame may have: its first
// bit must not be set (RFC 6455, 5.2).
func beyond(b []byte) bool {
	return b[1]&0x7f == 127 && len(b) >= largestHeader-4 && b[2]&0x80 != 0
}

// measure reads how long the header of a client's frame is, and its payload; 0
// for a header that is not whole yet.
func measure(b []byte) (header int, length uint64) {
	header, length = 6, uint64(b[1]&0x7f)
	switch length {
	case 126:
		header = 8
	case 127:
		header = largestHeader
	}
	switch {
	case len(b) < header:
		return 0, 0
	case header == 8:
		length = uint64(binary.BigEndian.Uint16(b[2:]))
	case header == largestHeader:
		length = binary.BigEndian.Uint64(b[2:])
	}
	return header, length
}

// unmask undoes a client's masking; the key's bytes are in the order of the wire.
func unmask(b []byte, key uint32) {
	for wide := uint64(key)<<32 | uint64(key); len(b) >= 8; b = b[8:] {
		binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)^wide)
	}
	for i := range b {
		b[i] ^= byte(key >> (i % 4 * 8))
	}
}

// closing reads what a client's closing frame says: 1005 for nothing.
func closing(payload []byte) (code int, err error) {
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
