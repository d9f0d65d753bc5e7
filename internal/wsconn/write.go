package wsconn

import (
	"encoding/binary"
	"math"
	"net"
	"sync"
	"time"
)

// minFullWrite is the size in bytes from which a write gets no further frame.
const minFullWrite = 16 << 10

// PingFrame returns an entry of a batch that is a ping without a payload.
func PingFrame() []byte { return encodeControl(Ping, nil) }

// PongFrame returns an entry of a batch that is the pong to a ping with a payload.
func PongFrame(payload []byte) []byte { return encodeControl(Pong, payload) }

// writeBuffers are the buffers in which frames are joined, of type *[]byte.
var writeBuffers = sync.Pool{New: func() any { b := make([]byte, 0, 2048); return &b }}

// WriteBatch writes a batch, several entries in one write. An entry is a JSON text, which
// becomes a text message, or a ping or pong. After SendClose or Close it returns
// net.ErrClosed. If the client accepts no bytes for Config.WriteTimeout, it returns an
// error that is os.ErrDeadlineExceeded.
func (c *Conn) WriteBatch(batch [][]byte) error {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	buffer := writeBuffers.Get().(*[]byte)
	defer writeBuffers.Put(buffer)
	for len(batch) > 0 {
		joined := (*buffer)[:0]
		for len(batch) > 0 && len(joined) < minFullWrite {
			joined = appendEntry(joined, batch[0])
			batch = batch[1:]
		}
		if cap(joined) <= 2*minFullWrite { // do not keep a large buffer
			*buffer = joined
		}
		if c.isClosing() {
			return net.ErrClosed
		}
		if err := c.writeAll(joined); err != nil {
			c.writeFailed = true
			c.parker.unpark(c)
			return err
		}
	}
	return nil
}

// Close closes the connection without a close frame. ReadMessage ends with an error.
func (c *Conn) Close() {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	_ = c.conn.Close() // an error means that it was closed before
	c.parker.unpark(c)
}

// SendClose writes a close frame after the batch that is being written. Later batches are
// not written. The client then has Config.CloseTimeout to send its own close frame: if the
// server closed the connection at once, the client could lose the close frame (RFC 6455,
// 7.1.1). A second call does nothing.
func (c *Conn) SendClose(code int, reason string) {
	c.mu.Lock()
	isFirst := !c.closing
	c.closing = true
	if isFirst { // both fail if the connection has ended
		_ = c.conn.SetWriteDeadline(time.Now().Add(c.parker.CloseTimeout))
		_ = c.conn.SetReadDeadline(time.Time{}) // that of a quiet client would end reading before the close frame
	}
	c.mu.Unlock()
	if !isFirst {
		return
	}
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	wait := c.parker.CloseTimeout
	if c.writeFailed || c.writeAll(encodeClose(code, reason)) != nil {
		wait = 0 // do not wait for the client
	}
	_ = c.conn.SetDeadline(time.Now().Add(wait)) // it fails if the connection has ended
	c.parker.unpark(c)
}

// appendEntry appends an entry of a batch, encoded as a frame. An entry whose first byte
// has finalBit is an encoded control frame; JSON never starts with such a byte. A server's
// frames are not masked (RFC 6455, 5.1).
func appendEntry(dst, entry []byte) []byte {
	if len(entry) > 0 && entry[0]&finalBit != 0 {
		return append(dst, entry...)
	}
	dst = append(dst, finalBit|byte(Text))
	switch size := len(entry); {
	case size < 126:
		dst = append(dst, byte(size))
	case size <= math.MaxUint16:
		dst = binary.BigEndian.AppendUint16(append(dst, 126), uint16(size))
	default:
		dst = binary.BigEndian.AppendUint64(append(dst, 127), uint64(size))
	}
	return append(dst, entry...)
}

// encodeControl encodes a control frame. Its payload is at most maxControlPayload bytes.
func encodeControl(kind Kind, payload []byte) []byte {
	return append([]byte{finalBit | byte(kind), byte(len(payload))}, payload...)
}

// encodeClose encodes a close frame. The code noStatus has no payload.
func encodeClose(code int, reason string) []byte {
	if code == noStatus {
		return encodeControl(closeFrame, nil)
	}
	return encodeControl(closeFrame, append(binary.BigEndian.AppendUint16(nil, uint16(code)), reason...))
}
