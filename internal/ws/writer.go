package ws

import (
	"encoding/binary"
	"errors"
	"math"
	"net"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/protocol"
)

const (
	// finalBit marks the only fragment of a message (RFC 6455, 5.2). No text of
	// ours begins with a byte that has it: a frame in an outbox that does is one of
	// control, as it goes out.
	finalBit = 0x80
	// writeAtOnce is how many bytes of frames a write begins with at most.
	writeAtOnce = 16 << 10
)

var ping = control(websocket.PingMessage, "")

// control is a control frame; its payload is at most 125 bytes.
func control(kind byte, payload string) []byte {
	return append([]byte{finalBit | kind, byte(len(payload))}, payload...)
}

// startWriter starts the goroutine that writes what is queued, and ends when
// nothing is.
func (se *session) startWriter() {
	go se.write() // end waits for it
}

// write writes until nothing is queued: one goroutine at a time, see outbox.
func (se *session) write() {
	for batch := se.out.take(); batch != nil; batch = se.out.take() {
		if err := se.send(batch); err != nil {
			se.out.close()
			se.broken(err)
		}
	}
}

// buffers are what frames are put together in, *[]byte.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 2048); return &b }}

// send writes frames that were queued together, many in one write.
func (se *session) send(batch [][]byte) error {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	for len(batch) > 0 {
		out := (*buffer)[:0]
		for len(batch) > 0 && len(out) < writeAtOnce {
			out = appendFrame(out, batch[0])
			batch = batch[1:]
		}
		if cap(out) <= 2*writeAtOnce { // a large one is not kept
			*buffer = out
		}
		if err := se.put(out); err != nil {
			return err
		}
	}
	return nil
}

// put writes whole frames to the connection: at once as a rule. A client that takes
// no more has writeWithin for the rest.
func (se *session) put(frames []byte) error {
	if se.out.shuttered() {
		return net.ErrClosed
	}
	if frames = se.wire.begin(frames); len(frames) == 0 {
		return nil
	}
	_ = se.wire.SetWriteDeadline(time.Now().Add(se.server.writeWithin)) // it fails where writing does
	if se.out.shuttered() {
		_ = se.wire.SetWriteDeadline(time.Now().Add(closeWithin)) // as who has closed it did, or will
	}
	if _, err := se.wire.Write(frames); err != nil {
		se.torn.Store(true)
		return err
	}
	return se.wire.SetWriteDeadline(time.Time{})
}

// appendFrame appends a frame of an outbox as it goes out: a server's are not
// masked.
func appendFrame(out, frame []byte) []byte {
	if len(frame) > 0 && frame[0]&finalBit != 0 {
		return append(out, frame...)
	}
	out = append(out, finalBit|websocket.TextMessage)
	switch size := len(frame); {
	case size < 126:
		out = append(out, byte(size))
	case size <= math.MaxUint16:
		out = binary.BigEndian.AppendUint16(append(out, 126), uint16(size))
	default:
		out = binary.BigEndian.AppendUint64(append(out, 127), uint64(size))
	}
	return append(out, frame...)
}

// broken closes a session whose client takes nothing for too long. On any
// other error of a write the read loop ends by itself.
func (se *session) broken(err error) {
	defer se.server.beds.rouse(se)
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		se.close(protocol.CloseSlowReader, tooSlow)
	}
}
