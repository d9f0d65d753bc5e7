package ws

import (
	"errors"
	"sync"
	"syscall"
	"time"

	"laststand/internal/timer"
)

// quietAfter is how long a session must be quiet before it is parked. noRoomRetryAfter
// is the pause after the system had no resources to park a session.
const (
	quietAfter       = 2 * time.Second
	tickEvery        = time.Second
	noRoomRetryAfter = time.Minute
)

// parker parks quiet sessions. A parked session has no goroutine: a poller watches its
// socket. Its read loop continues in a new goroutine when bytes arrive, when the client
// disconnects, or when the server closes the session. Every tickEvery the timing wheel
// interrupts the read loops of quiet sessions, so that they park. While there is no
// session, there is no poller. The zero value parks nothing: call init.
//
// A session is either parked, or its read loop runs. mu guards the change. The
// goroutine that unparks a session must start its read loop.
//
// An event carries the slot and the generation of one parking. A late event, for a
// closed socket or a session that already runs, has an old generation and is ignored.
// Example: slot 7 is parked as generation 41, runs, and is parked as 42; an event (7,
// 41) that arrives now does nothing.
type parker struct {
	wheel   *timer.Wheel
	now     func() int64
	metrics *metrics

	mu             sync.Mutex
	slots          []parkSlot // by slot number, from 0
	freeSlots      []uint32   // slot numbers
	lastGeneration uint32     // of the last parking; counts all
	parkedCount    int
	poller         *poller // nil until the first session is parked
	newPoller      func() (*poller, error)

	quietAfter, tickEvery time.Duration
	noRoomUntil           time.Duration // no session is interrupted before this time, since started
	tickSet               bool          // tickTimer is set
	tickTimer             timer.Timer
}

type parkSlot struct {
	*session   // nil if the slot is free
	generation uint32
	parked     bool
}

func (pk *parker) init(s *Server) {
	pk.wheel, pk.now, pk.metrics = s.Wheel, s.Now, s.metrics
	pk.quietAfter, pk.tickEvery, pk.newPoller = quietAfter, tickEvery, newPoller
}

// addSlot gives a session a slot, if its connection can be parked. It must be called
// before other goroutines know the session.
func (pk *parker) addSlot(se *session) {
	if se.conn.raw == nil || !canPoll {
		return
	}
	pk.mu.Lock()
	defer pk.mu.Unlock()
	if len(pk.freeSlots) == 0 {
		pk.freeSlots = append(pk.freeSlots, uint32(len(pk.slots)))
		pk.slots = append(pk.slots, parkSlot{})
	}
	last := len(pk.freeSlots) - 1
	se.parkSlot = pk.freeSlots[last] + 1
	pk.freeSlots = pk.freeSlots[:last]
	pk.slots[se.parkSlot-1] = parkSlot{session: se}
	pk.scheduleTick()
}

// removeSlot frees the slot of a session that ends. With the last one it closes the
// poller and waits for it.
func (pk *parker) removeSlot(se *session) {
	if se.parkSlot == 0 {
		return
	}
	pk.mu.Lock()
	pk.slots[se.parkSlot-1] = parkSlot{}
	pk.freeSlots = append(pk.freeSlots, se.parkSlot-1)
	var unused *poller
	if len(pk.freeSlots) == len(pk.slots) {
		unused, pk.poller = pk.poller, nil
		pk.slots, pk.freeSlots = nil, nil
	}
	pk.mu.Unlock()
	if unused != nil {
		unused.close()
	}
}

// park parks the session of the calling read loop. If it returns true, the loop must
// end at once: another goroutine may own the session. If it returns false, the loop
// goes on.
func (pk *parker) park(se *session) bool {
	if se.parkSlot == 0 || se.conn.reader.isMidMessage() {
		return false
	}
	pk.mu.Lock()
	p := pk.ensurePoller()
	if p == nil {
		pk.mu.Unlock()
		return false
	}
	pk.lastGeneration++
	generation := pk.lastGeneration
	pk.slots[se.parkSlot-1].generation = generation
	pk.setParked(se.parkSlot-1, true)
	pk.mu.Unlock()
	err := p.arm(se.conn.raw, uint64(generation)<<32|uint64(se.parkSlot-1))
	return pk.confirmParked(se, generation, err)
}

// confirmParked returns whether the session is parked, or was unparked in the meantime
// and belongs to another goroutine. If it is parked again by then, arming this parking
// may have replaced the newer arming: the session is unparked.
func (pk *parker) confirmParked(se *session, generation uint32, err error) bool {
	pk.mu.Lock()
	defer pk.mu.Unlock()
	switch {
	case !pk.isParked(se):
	case pk.slots[se.parkSlot-1].generation != generation:
		pk.unparkLocked(se.parkSlot - 1)
	case err != nil || se.closing.Load() != nil:
		pk.setParked(se.parkSlot-1, false)
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.ENOMEM) {
			pk.noRoomUntil = sinceStart() + noRoomRetryAfter
		}
		return false
	}
	return true
}

// isParked returns true if a session is parked and has not ended. The caller holds mu.
func (pk *parker) isParked(se *session) bool {
	return int(se.parkSlot) <= len(pk.slots) && pk.slots[se.parkSlot-1].session == se && pk.slots[se.parkSlot-1].parked
}

// unpark starts the read loop of a parked session. A caller that ends a session calls
// it after setting session.closing; confirmParked checks closing afterwards.
func (pk *parker) unpark(se *session) {
	if se.parkSlot == 0 {
		return
	}
	pk.mu.Lock()
	defer pk.mu.Unlock()
	if pk.isParked(se) {
		pk.unparkLocked(se.parkSlot - 1)
	}
}

// handleEvents unparks the sessions of events.
func (pk *parker) handleEvents(events []uint64) {
	pk.mu.Lock()
	defer pk.mu.Unlock()
	for _, event := range events {
		slot, generation := uint32(event), uint32(event>>32)
		if int(slot) < len(pk.slots) && pk.slots[slot].parked && pk.slots[slot].generation == generation {
			pk.unparkLocked(slot)
		}
	}
}

// unparkAll unparks all sessions after their poller has failed.
func (pk *parker) unparkAll(failed *poller) {
	pk.mu.Lock()
	defer pk.mu.Unlock()
	if pk.poller != failed {
		return // the poller was closed
	}
	pk.poller = nil
	for slot := range pk.slots {
		if pk.slots[slot].parked {
			pk.unparkLocked(uint32(slot))
		}
	}
}

// unparkLocked starts the read loop of a parked session. The caller holds mu.
func (pk *parker) unparkLocked(slot uint32) {
	pk.setParked(slot, false)
	go pk.slots[slot].run() // Server.running waits for it
}

// setParked notes whether a session is parked. The caller holds mu.
func (pk *parker) setParked(slot uint32, parked bool) {
	pk.slots[slot].parked = parked
	if parked {
		pk.parkedCount++
	} else {
		pk.parkedCount--
		pk.metrics.wakeups.Inc()
		pk.scheduleTick()
	}
	pk.metrics.parked.Set(float64(pk.parkedCount))
}

// ensurePoller returns the poller, nil if the system cannot give one. The caller holds
// mu.
func (pk *parker) ensurePoller() *poller {
	if pk.poller == nil {
		p, err := pk.newPoller()
		if err != nil {
			pk.noRoomUntil = sinceStart() + noRoomRetryAfter
			return nil
		}
		pk.poller = p
		go p.run(pk.handleEvents, pk.unparkAll) // close waits for it
	}
	return pk.poller
}

// scheduleTick sets the timer of interruptQuiet. The caller holds mu.
func (pk *parker) scheduleTick() {
	if !pk.tickSet {
		pk.tickSet = true
		pk.wheel.Set(&pk.tickTimer, pk.tickEvery, pk.interruptQuiet)
	}
}

// interruptQuiet makes quiet sessions park, and runs again until all are parked. While
// the system has no resources for more parked sessions, it interrupts none: that costs
// more than their goroutines.
func (pk *parker) interruptQuiet() {
	for _, se := range pk.quietSessions() {
		se.conn.interrupt()
	}
}

func (pk *parker) quietSessions() (quiet []*session) {
	pk.mu.Lock()
	defer pk.mu.Unlock()
	pk.tickSet = false
	before, unparked := pk.now()-pk.quietAfter.Milliseconds(), len(pk.slots)-len(pk.freeSlots)-pk.parkedCount
	if unparked == 0 {
		return nil
	}
	pk.scheduleTick()
	if sinceStart() < pk.noRoomUntil {
		return nil
	}
	for _, slot := range pk.slots {
		if slot.session != nil && !slot.parked && slot.lastReceived.Load() <= before {
			quiet = append(quiet, slot.session)
		}
	}
	return quiet
}
