package wsconn

import (
	"errors"
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
	CheckInterval  time.Duration // time between two searches for quiet connections

	Parked  prometheus.Gauge   // parked connections
	Wakeups prometheus.Counter // times that a parked connection got a goroutine again
}

// parkingPause is how long no connection is interrupted to park after the system had no
// resources for that: each interruption would cost more than the connection's goroutine.
const parkingPause = time.Minute

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
	running     map[*Conn]struct{} // connections that can park and are not parked
	parked      map[uint64]*Conn   // by the number of their parking
	lastParking uint64             // the number of the last parking of any connection
	started     bool               // start was called, or must not be called any more
	epoll       *epoll             // nil if the system has none; then no connection can park
	pausedUntil time.Duration      // no connection is interrupted before this time, see timer.SinceStart

	watching sync.WaitGroup // watchEpoll
}

// NewParker returns a parker without connections.
func NewParker(config Config) *Parker {
	return &Parker{Config: config, running: make(map[*Conn]struct{}), parked: make(map[uint64]*Conn)}
}

// start makes the epoll instance for the first connection. The caller holds mu.
func (p *Parker) start() {
	p.started = true
	if created, err := newEpoll(); err == nil {
		p.epoll = created
		p.watching.Go(func() { p.watchEpoll(created) })
	}
}

// NewConn returns the websocket of a connection after the handshake. The connection calls
// resume in a new goroutine after ReadMessage has returned ErrSuspended.
func (p *Parker) NewConn(netConn net.Conn, resume func()) *Conn {
	c := &Conn{parker: p, conn: netConn, resume: resume}
	if sysConn, ok := netConn.(syscall.Conn); ok {
		c.rawConn, _ = sysConn.SyscallConn() // nil on an error
	}
	c.readFunc, c.writeFunc = c.readAvailable, c.writeOnce
	c.lastReceived.Store(int64(timer.SinceStart()))
	if c.rawConn == nil {
		return c
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.started {
		p.start()
	}
	if p.epoll != nil {
		p.running[c] = struct{}{}
	}
	return c
}

// Close ends the parker's goroutine and waits for it. All connections must be closed.
func (p *Parker) Close() {
	p.mu.Lock()
	p.started = true // a late connection must not start it
	if p.epoll != nil {
		p.epoll.close()
	}
	p.mu.Unlock()
	p.watching.Wait()
}

// remove unparks a connection that was closed. It cannot park any more.
func (p *Parker) remove(c *Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unparkLocked(c)
	delete(p.running, c)
}

// park parks the connection of the calling goroutine. If it returns true, the goroutine
// must end at once: another one may own the connection.
func (p *Parker) park(c *Conn) bool {
	if c.frames.isMidMessage() {
		return false
	}
	p.mu.Lock()
	if _, canPark := p.running[c]; !canPark {
		p.mu.Unlock()
		return false
	}
	p.lastParking++
	parking, epoll := p.lastParking, p.epoll
	c.parking = parking
	p.parked[parking] = c
	delete(p.running, c)
	p.Parked.Set(float64(len(p.parked)))
	p.mu.Unlock()
	err := epoll.requestEvent(c.rawConn, parking)
	return p.confirmParked(c, parking, err)
}

// confirmParked finishes a parking after its event was requested; err is the error of
// that request. It returns true if the connection is parked, or was unparked in the
// meantime and belongs to another goroutine. If it has parked again by now, this request
// may have replaced the newer request: confirmParked unparks it.
func (p *Parker) confirmParked(c *Conn, parking uint64, err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case c.parking != parking:
		p.unparkLocked(c)
	case err != nil || c.isClosing():
		p.endParking(c)
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.ENOMEM) {
			p.pausedUntil = timer.SinceStart() + parkingPause
		}
		return false
	}
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
	p.epoll = nil
	for _, c := range p.parked {
		p.unparkLocked(c)
	}
	clear(p.running)
}

// unparkLocked is unpark; the caller holds mu.
func (p *Parker) unparkLocked(c *Conn) {
	if c.parking != 0 {
		p.endParking(c)
		go c.resume()
	}
}

// endParking notes that a parked connection has a goroutine. The caller holds mu.
func (p *Parker) endParking(c *Conn) {
	delete(p.parked, c.parking)
	c.parking = 0
	if p.epoll != nil {
		p.running[c] = struct{}{}
	}
	p.Wakeups.Inc()
	p.Parked.Set(float64(len(p.parked)))
}

// watchEpoll unparks the connections of events, and searches for quiet connections each
// CheckInterval, until the epoll instance is closed or fails. Then it unparks all.
func (p *Parker) watchEpoll(e *epoll) {
	defer e.close()
	defer p.stop()
	var nextCheck time.Time
	for {
		if now := time.Now(); !now.Before(nextCheck) {
			p.interruptQuiet()
			nextCheck = now.Add(p.CheckInterval)
		}
		events, err := e.wait(nextCheck)
		if err != nil {
			return
		}
		p.handleEvents(events)
	}
}

// interruptQuiet makes quiet connections park.
func (p *Parker) interruptQuiet() {
	for _, c := range p.quietConns() {
		c.interrupt()
	}
}

// quietConns returns the connections that are not parked and have received no message for
// QuietAfter.
func (p *Parker) quietConns() (quiet []*Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if timer.SinceStart() < p.pausedUntil {
		return nil
	}
	for c := range p.running {
		if c.SilentFor() >= p.QuietAfter {
			quiet = append(quiet, c)
		}
	}
	return quiet
}
