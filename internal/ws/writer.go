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
	// finalBit marks the last or only fragment of a message (RFC 6455, 5.2). An entry of
	// an outbox whose first byte has this bit is an encoded control frame. Any other entry
	// is the payload of a text message: it is JSON and never starts with such a byte.
	finalBit = 0x80
	// minFullWrite is the size in bytes from which a write gets no further frame.
	minFullWrite = 16 << 10
)

var pingFrame = controlFrame(websocket.PingMessage, "")

// controlFrame encodes a control frame. Its payload is at most 125 bytes.
func controlFrame(kind byte, payload string) []byte {
	return append([]byte{finalBit | kind, byte(len(payload))}, payload...)
}

// startWriter starts a goroutine that writes the queued frames and then ends.
func (se *session) startWriter() {
	go se.writeQueued() // end waits for it
}

// writeQueued writes frames until the outbox has none. The outbox makes sure that only
// one goroutine per session runs it at a time.
func (se *session) writeQueued() {
	for batch := se.outbox.takeBatch(); batch != nil; batch = se.outbox.takeBatch() {
		if err := se.writeBatch(batch); err != nil {
			se.outbox.close()
			se.handleWriteError(err)
		}
	}
}

// writeBuffers are the buffers in which frames are joined, of type *[]byte.
var writeBuffers = sync.Pool{New: func() any { b := make([]byte, 0, 2048); return &b }}

// writeBatch writes a batch of frames, several in one write.
func (se *session) writeBatch(batch [][]byte) error {
	buffer := writeBuffers.Get().(*[]byte)
	defer writeBuffers.Put(buffer)
	for len(batch) > 0 {
		joined := (*buffer)[:0]
		for len(batch) > 0 && len(joined) < minFullWrite {
			joined = appendFrame(joined, batch[0])
			batch = batch[1:]
		}
		if cap(joined) <= 2*minFullWrite { // do not keep a large buffer
			*buffer = joined
		}
		if err := se.writeFrames(joined); err != nil {
			return err
		}
	}
	return nil
}

// writeFrames writes whole frames to the connection, usually without waiting. If the
// kernel accepts no more bytes, the client has writeTimeout to receive the rest.
func (se *session) writeFrames(frames []byte) error {
	if se.outbox.isClosed() {
		return net.ErrClosed
	}
	if frames = se.conn.writeAvailable(frames); len(frames) == 0 {
		return nil
	}
	_ = se.conn.SetWriteDeadline(time.Now().Add(se.server.writeTimeout)) // an error here also ends writing
	if se.outbox.isClosed() {
		_ = se.conn.SetWriteDeadline(time.Now().Add(closeTimeout)) // the closing goroutine sets the same deadline
	}
	if _, err := se.conn.Write(frames); err != nil {
		se.writeFailed.Store(true)
		return err
	}
	return se.conn.SetWriteDeadline(time.Time{})
}

// appendFrame appends an entry of an outbox, encoded as a websocket frame. A server's
// frames are not masked (RFC 6455, 5.1).
func appendFrame(dst, frame []byte) []byte {
	if len(frame) > 0 && frame[0]&finalBit != 0 {
		return append(dst, frame...)
	}
	dst = append(dst, finalBit|websocket.TextMessage)
	switch size := len(frame); {
	case size < 126:
		dst = append(dst, byte(size))
	case size <= math.MaxUint16:
		dst = binary.BigEndian.AppendUint16(append(dst, 126), uint16(size))
	default:
		dst = binary.BigEndian.AppendUint64(append(dst, 127), uint64(size))
	}
	return append(dst, frame...)
}

// handleWriteError closes a session whose client accepted no bytes for writeTimeout. On
// any other write error the connection has ended, and the read loop ends by itself.
func (se *session) handleWriteError(err error) {
	defer se.server.parker.unpark(se)
	var netErr net.Error
	if errors.As(err, &netErr) && netErr.Timeout() {
		se.close(protocol.CloseSlowReader, slowReaderReason)
	}
}
