package ws

import (
	"bufio"
	"net"
	"net/http"
	"sync"
	"time"
)

// wire is a session's connection. It bounds how long a message takes that is
// not there at once: who sends the first part of one and dribbles the rest, or
// never sends it, is cut off. One that comes in one piece costs nothing for that.
type wire struct {
	net.Conn
	within time.Duration

	// Owned by who reads.
	begun   bool // something has come since the last message
	amid    bool // a message of several frames perhaps: one of control between them ends nothing
	bounded bool // reading has a deadline of its own

	mu    sync.Mutex
	final bool // the session ends, and reading with it: that deadline stays
}

// Read implements net.Conn.
func (w *wire) Read(b []byte) (int, error) {
	if w.begun && !w.bounded {
		w.bounded = true
		w.bound(time.Now().Add(w.within))
	}
	n, err := w.Conn.Read(b)
	w.begun = true
	return n, err
}

// message says that one has begun, whose end is said by rest.
func (w *wire) message() { w.amid = true }

// control says that a control frame has been read.
func (w *wire) control() {
	if !w.amid {
		w.rest()
	}
}

// rest says that nothing is awaited that has begun.
func (w *wire) rest() {
	w.begun, w.amid = false, false
	if w.bounded {
		w.bounded = false
		w.bound(time.Time{})
	}
}

func (w *wire) bound(until time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.final {
		_ = w.SetReadDeadline(until) // it fails where reading does
	}
}

// SetDeadline implements net.Conn. But for none it is the last word on reading.
func (w *wire) SetDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.final = w.final || !t.IsZero()
	return w.Conn.SetDeadline(t)
}

// tap has the connection that an upgrade takes over be a wire.
type tap struct {
	http.ResponseWriter
	within time.Duration
}

// Hijack implements http.Hijacker.
func (t tap) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(t.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	return &wire{Conn: c, within: t.within}, rw, nil
}
