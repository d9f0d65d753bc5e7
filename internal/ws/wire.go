package ws

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gorilla/websocket"
)

// wire is a session's connection. While nothing comes it holds no buffer, and its
// reader stands on few bytes of its stack. It bounds how long a message takes that
// is not there at once: who sends the first part of one and dribbles the rest, or
// never sends it, is cut off, also where that part came with the message before.
// One that comes in one piece sets no timer for that; nor does what is written at
// once.
type wire struct {
	net.Conn
	raw    syscall.RawConn // nil: it has none, as that of TLS
	within time.Duration

	// Owned by who reads.
	in      inbound
	bounded bool // reading has a deadline of its own; written under mu
	read    func(fd uintptr) bool
	failed  error // of read

	// Owned by who writes.
	out   []byte // what is left to be written
	write func(fd uintptr) bool

	said   atomic.Bool // the closing frame
	mu     sync.Mutex
	final  bool // the session ends, and reading with it: that deadline stays
	lulled bool // reading has ended only for its loop to sleep
}

func newWire(c net.Conn, within time.Duration) *wire {
	w := &wire{Conn: c, within: within}
	if open, ok := c.(syscall.Conn); ok {
		w.raw, _ = open.SyscallConn() // where it fails there is none
	}
	w.read, w.write = w.readNow, w.writeNow
	return w
}

// fill waits for more. It is all that reading waits in, so that a stack that waits
// is small.
func (w *wire) fill() error {
	if w.raw == nil {
		return w.fillPlain()
	}
	if err := w.raw.Read(w.read); err != nil {
		return err
	}
	return w.failed
}

// readNow reads what is there; false where that is nothing, and it is to be
// called again.
func (w *wire) readNow(fd uintptr) bool {
	n, err := syscall.Read(int(fd), w.in.room())
	for errors.Is(err, syscall.EINTR) {
		n, err = syscall.Read(int(fd), w.in.room())
	}
	if errors.Is(err, syscall.EAGAIN) {
		w.in.tidy()
		return false
	}
	if err == nil && n == 0 {
		err = io.EOF
	}
	w.failed = err
	w.in.grew(max(n, 0))
	return true
}

// fillPlain waits for a byte where there is no buffer to wait with. Amid a message
// there is one, also where none of it is kept.
func (w *wire) fillPlain() error {
	room := make([]byte, 1)
	if w.in.amid() {
		room = w.in.room()
	}
	n, err := w.Read(room)
	if n > 0 && w.in.buffer == nil {
		w.in.room()[0] = room[0]
	}
	w.in.grew(n)
	if n > 0 {
		return nil // what is wrong is seen the next time
	}
	return err
}

// next is that of inbound. Each message that has come to its end gives the next
// its full time.
func (w *wire) next() (kind byte, payload []byte, err error) {
	kind, payload, err = w.in.next()
	if kind != 0 && w.bounded && w.in.kind == 0 {
		w.bound(time.Time{})
	}
	return kind, payload, err
}

// rest has been reached when all was dealt with that is there whole.
func (w *wire) rest() {
	w.in.tidy()
	if w.in.amid() && !w.bounded {
		w.bound(time.Now().Add(w.within))
	}
}

// bound sets when reading ends; the zero time: not by itself.
func (w *wire) bound(until time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bounded, w.lulled = !until.IsZero(), false
	if !w.final {
		_ = w.SetReadDeadline(until) // it fails where reading does
	}
}

// lull has fill return, unless something is under way that has a deadline.
func (w *wire) lull() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.final && !w.bounded {
		w.lulled = true
		_ = w.SetReadDeadline(time.Unix(1, 0)) // it fails where reading does
	}
}

// wasLulled says whether lull may be all that is behind an error of fill, which is
// called again then: an end of its own comes again.
func (w *wire) wasLulled(err error) bool {
	if late, ok := errors.AsType[net.Error](err); !ok || !late.Timeout() {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	was := w.lulled
	w.lulled = false
	if was && !w.final {
		_ = w.SetReadDeadline(time.Time{}) // it fails where reading does
	}
	return was
}

// SetDeadline implements net.Conn. But for none it is the last word on reading.
func (w *wire) SetDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.final = w.final || !t.IsZero()
	return w.Conn.SetDeadline(t)
}

// begin writes as much as goes out without waiting, and gives what is left.
func (w *wire) begin(frames []byte) []byte {
	if w.raw == nil {
		return frames
	}
	w.out = frames
	_ = w.raw.Write(w.write) // an error comes again with what is left
	frames, w.out = w.out, nil
	return frames
}

func (w *wire) writeNow(fd uintptr) bool {
	if n, err := syscall.Write(int(fd), w.out); err == nil {
		w.out = w.out[n:]
	}
	return true
}

// sayGoodbye says the closing frame, once, and bounds how long is waited for the
// client's.
func (w *wire) sayGoodbye(code int, reason string) {
	if !w.said.CompareAndSwap(false, true) {
		return
	}
	wait := closeWithin
	_ = w.SetWriteDeadline(time.Now().Add(closeWithin)) // it fails where writing does
	if _, err := w.Write(control(websocket.CloseMessage, string(websocket.FormatCloseMessage(code, reason)))); err != nil {
		wait = 0 // nothing to wait for
	}
	_ = w.SetDeadline(time.Now().Add(wait)) // of a write under way too; it fails where the connection has ended
}

// hearOut reads to the client's closing frame, or the end.
func (w *wire) hearOut() {
	for kind := byte(0); kind != websocket.CloseMessage; {
		var err error
		if kind, _, err = w.next(); errors.Is(err, errFrame) {
			return
		}
		if kind == 0 && w.fill() != nil {
			return
		}
	}
}
