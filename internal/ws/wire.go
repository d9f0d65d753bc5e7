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
// never sends it, is cut off, also where that part came with the message before.
// One that comes in one piece costs nothing for that.
type wire struct {
	net.Conn
	within time.Duration

	// Owned by who reads.
	passed  progress // what has come
	bounded bool     // reading has a deadline of its own

	mu    sync.Mutex
	final bool // the session ends, and reading with it: that deadline stays
}

// Read implements net.Conn.
func (w *wire) Read(b []byte) (int, error) {
	if !w.bounded && w.passed.amid() {
		w.bounded = true
		w.bound(time.Now().Add(w.within))
	}
	n, err := w.Conn.Read(b)
	if w.passed.pass(b[:n]) && w.bounded {
		w.bounded = false // what has begun since has a time of its own
		w.bound(time.Time{})
	}
	return n, err
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
