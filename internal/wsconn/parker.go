package wsconn

import (
	"errors"
	"math"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/timer"
)

// Config configures the connections of a Parker. All fields are required.
type Config struct {
	MessageTimeout time.Duration // from the first byte of a message to its last
	WriteTimeout   time.Duration // for a client to accept bytes
	CloseTimeout   time.Duration // each: for the batch under way, for the close frame, for the client's close frame
	QuietAfter     time.Duration // a connection parks after this time without a message

	Parked  prometheus.Gauge   // parked connections
	Wakeups prometheus.Counter // times that a parked connection got a goroutine again
}

const (
	// parkingPause is how long no connection parks after the system had no resources for that:
	// each attempt would cost more than the connection's goroutine.
	parkingPause = time.Minute
	// never is a pause without an end.
	never time.Duration = math.MaxInt64 / 2
)

// Parker makes connections and parks quiet ones. A parked connection has no goroutine: an
// epoll instance watches its socket. A new goroutine continues to read when bytes arrive,
// when the client disconnects, and when the server closes the connection. It is safe for
// concurrent use. The caller must call Close.
//
// A connection is either parked, or a goroutine reads it. mu guards the change between the
// two states. The goroutine that unparks a connection must start its reading.
//
// Each parking has a new number, which its event contains. A late event, for a closed socket
// or a connection that already runs, has the number of an earlier parking and is ignored.
type Parker struct {
	Config

	mu          sync.Mutex
	parked      map[uint64]*Conn // by the number of their parking
	lastParking uint64           // the number of the last parking of any connection
	epoll       *epoll           // nil before the first parking, and after the end of the instance
	pausedUntil time.Duration    // no connection parks before this time, see timer.SinceStart

	watching sync.WaitGroup // watchEpoll
}

// NewParker returns a parker without connections.
func NewParker(config Config) *Parker { return &Parker{Config: config, parked: make(map[uint64]*Conn)} }

// NewConn returns the websocket of a connection after the handshake. The connection calls
// resume in a new goroutine after ReadMessage has returned ErrSuspended.
func (p *Parker) NewConn(netConn net.Conn, resume func()) *Conn {
	c := &Conn{parker: p, conn: netConn, resume: resume}
	if sysConn, ok := netConn.(syscall.Conn); ok {
		c.rawConn, _ = sysConn.SyscallConn() // nil on an error
	}
	c.readFunc, c.writeFunc = c.readAvailable, c.writeOnce
	c.lastReceived.Store(int64(timer.SinceStart()))
	return c
}

// Close ends the parker's goroutine and waits for it. All connections must be closed.
func (p *Parker) Close() {
	p.mu.Lock()
	p.pausedUntil = never // a late connection must not start it
	if p.epoll != nil {
		p.epoll.close()
	}
	p.mu.Unlock()
	p.watching.Wait()
}

// pauseLeft returns how long no connection can park from now on.
func (p *Parker) pauseLeft() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pausedUntil - timer.SinceStart()
}

// park parks the connection of the calling goroutine. If it returns true, the goroutine
// must end at once: another one may own the connection.
func (p *Parker) park(c *Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if timer.SinceStart() < p.pausedUntil || c.isClosing() || !p.hasEpoll() {
		return false
	}
	p.lastParking++
	if err := p.epoll.requestEvent(c.rawConn, p.lastParking); err != nil {
		p.pauseAfter(err)
		return false
	}
	c.parking = p.lastParking
	p.parked[c.parking] = c
	p.Parked.Set(float64(len(p.parked)))
	return true
}

// pauseAfter pauses parking if the system has no resources for an event. The caller holds mu.
func (p *Parker) pauseAfter(err error) {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.ENOMEM) {
		p.pausedUntil = timer.SinceStart() + parkingPause
	}
}

// hasEpoll makes the epoll instance for the first parking. The caller holds mu.
func (p *Parker) hasEpoll() bool {
	if p.epoll != nil {
		return true
	}
	created, err := newEpoll()
	if err != nil {
		p.pausedUntil = never // the system has none
		return false
	}
	p.epoll = created
	p.watching.Go(func() { p.watchEpoll(created) })
	return true
}

// unpark starts a goroutine for a parked connection; it does nothing if the connection is
// not parked.
func (p *Parker) unpark(c *Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unparkLocked(c)
}

// handleEvents unparks the connections of events. An event is the number of a parking.
func (p *Parker) handleEvents(events []uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, event := range events {
		if c := p.parked[event]; c != nil {
			p.unparkLocked(c)
		}
	}
}

// stop unparks all connections after the epoll instance has ended. No connection can park
// any more.
func (p *Parker) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.epoll, p.pausedUntil = nil, never
	for _, c := range p.parked {
		p.unparkLocked(c)
	}
}

// unparkLocked is unpark; the caller holds mu.
func (p *Parker) unparkLocked(c *Conn) {
	if c.parking == 0 {
		return
	}
	delete(p.parked, c.parking)
	c.parking = 0
	p.Wakeups.Inc()
	p.Parked.Set(float64(len(p.parked)))
	go c.resume()
}

// watchEpoll unparks the connections of events until the epoll instance is closed or fails.
// Then it unparks all.
func (p *Parker) watchEpoll(e *epoll) {
	defer e.close()
	defer p.stop()
	for {
		events, err := e.wait()
		if err != nil {
			return
		}
		p.handleEvents(events)
	}
}
