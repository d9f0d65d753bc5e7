package wsconn

import (
	"errors"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
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
// Each parking of a connection has a new number, its generation. An event contains the slot
// and the generation. A late event, for a closed socket or a connection that already runs,
// has an old generation and is ignored.
// Example: slot 7 is parked as generation 41, runs, and is parked as 42; an event (7,
// 41) that arrives now does nothing.
type Parker struct {
	Config

	mu             sync.Mutex
	slots          []slot   // by slot number, from 0
	freeSlots      []uint32 // slot numbers
	lastGeneration uint32   // generation of the last parking of any connection
	parkedCount    int
	epoll          *epoll // nil before the first connection, and without resources for it
	newEpoll       func() (*epoll, error)
	pausedUntil    time.Duration // no connection is interrupted before this time since processStart
	closed         bool
}

// slot is a connection's entry in the parker.
type slot struct {
	conn       *Conn // nil if the slot is free
	generation uint32
	parked     bool
}

// NewParker returns a parker without connections.
func NewParker(config Config) *Parker { return &Parker{Config: config, newEpoll: newEpoll} }

// NewConn returns the websocket of a connection after the handshake. The connection calls
// resume in a new goroutine after ReadMessage has returned ErrSuspended.
func (p *Parker) NewConn(netConn net.Conn, resume func()) *Conn {
	c := &Conn{parker: p, conn: netConn, resume: resume}
	if sysConn, ok := netConn.(syscall.Conn); ok {
		c.rawConn, _ = sysConn.SyscallConn() // nil on an error
	}
	c.readFunc, c.writeFunc = c.readAvailable, c.writeOnce
	c.lastReceived.Store(int64(sinceStart()))
	if c.rawConn == nil || !canPoll {
		return c
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.freeSlots) == 0 {
		p.freeSlots = append(p.freeSlots, uint32(len(p.slots)))
		p.slots = append(p.slots, slot{})
	}
	last := len(p.freeSlots) - 1
	c.slot = p.freeSlots[last] + 1
	p.freeSlots = p.freeSlots[:last]
	p.slots[c.slot-1] = slot{conn: c}
	p.hasEpoll()
	return c
}

// Close ends the parker's goroutine and waits for it. All connections must be closed.
func (p *Parker) Close() {
	p.mu.Lock()
	ended := p.epoll
	p.epoll, p.closed = nil, true
	p.mu.Unlock()
	if ended != nil {
		ended.close()
	}
}

// remove unparks a connection that was closed, and frees its slot.
func (p *Parker) remove(c *Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.slot == 0 {
		return
	}
	p.unparkLocked(c.slot - 1)
	p.slots[c.slot-1] = slot{}
	p.freeSlots = append(p.freeSlots, c.slot-1)
	c.slot = 0
}

// park parks the connection of the calling goroutine. If it returns true, the goroutine
// must end at once: another one may own the connection.
func (p *Parker) park(c *Conn) bool {
	if c.frames.isMidMessage() {
		return false
	}
	p.mu.Lock()
	if c.slot == 0 || !p.hasEpoll() {
		p.mu.Unlock()
		return false
	}
	p.lastGeneration++
	generation, number, epoll := p.lastGeneration, c.slot-1, p.epoll
	p.slots[number].generation = generation
	p.setParked(number, true)
	p.mu.Unlock()
	err := epoll.requestEvent(c.rawConn, uint64(generation)<<32|uint64(number))
	return p.confirmParked(c, generation, err)
}

// confirmParked finishes a parking after its event was requested; err is the error of
// that request. It returns true if the connection is parked, or was unparked in the
// meantime and belongs to another goroutine. If it is parked with a newer generation by
// now, this request may have replaced the newer request: confirmParked unparks it.
func (p *Parker) confirmParked(c *Conn, generation uint32, err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !p.isParked(c):
	case p.slots[c.slot-1].generation != generation:
		p.unparkLocked(c.slot - 1)
	case err != nil || c.isClosing():
		p.setParked(c.slot-1, false)
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.ENOMEM) {
			p.pausedUntil = sinceStart() + parkingPause
		}
		return false
	}
	return true
}

// isParked returns true if a connection is parked. The caller holds mu.
func (p *Parker) isParked(c *Conn) bool { return c.slot != 0 && p.slots[c.slot-1].parked }

// unpark starts a goroutine for a parked connection; it does nothing if the connection is
// not parked.
func (p *Parker) unpark(c *Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.slot != 0 {
		p.unparkLocked(c.slot - 1)
	}
}

// handleEvents unparks the connections of events. An event has the slot in its low 32 bits
// and the generation in its high 32 bits.
func (p *Parker) handleEvents(events []uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, event := range events {
		number, generation := uint32(event), uint32(event>>32)
		if int(number) < len(p.slots) && p.slots[number].generation == generation {
			p.unparkLocked(number)
		}
	}
}

// unparkAll unparks all connections after their epoll instance has failed.
func (p *Parker) unparkAll(failed *epoll) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.epoll != failed {
		return // the parker was closed
	}
	p.epoll = nil
	for number := range p.slots {
		p.unparkLocked(uint32(number))
	}
}

// unparkLocked starts a goroutine for the connection in a slot, if it is parked. The caller
// holds mu.
func (p *Parker) unparkLocked(number uint32) {
	if p.slots[number].parked {
		p.setParked(number, false)
		go p.slots[number].conn.resume()
	}
}

// setParked sets whether a connection is parked, and counts it. The caller holds mu.
func (p *Parker) setParked(number uint32, parked bool) {
	p.slots[number].parked = parked
	if parked {
		p.parkedCount++
	} else {
		p.parkedCount--
		p.Wakeups.Inc()
	}
	p.Parked.Set(float64(p.parkedCount))
}

// hasEpoll starts the epoll instance if there is none. It returns false if the system has
// no resources for one. The caller holds mu.
func (p *Parker) hasEpoll() bool {
	if p.epoll != nil || p.closed {
		return p.epoll != nil
	}
	created, err := p.newEpoll()
	if err != nil {
		p.pausedUntil = sinceStart() + parkingPause
		return false
	}
	p.epoll = created
	go created.run(p) // Close waits for it
	return true
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
	if sinceStart() < p.pausedUntil {
		return nil
	}
	for i := range p.slots {
		if s := &p.slots[i]; s.conn != nil && !s.parked && s.conn.SilentFor() >= p.QuietAfter {
			quiet = append(quiet, s.conn)
		}
	}
	return quiet
}
