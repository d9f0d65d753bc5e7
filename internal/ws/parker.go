package ws

import (
	"errors"
	"sync"
	"syscall"
	"time"

	"laststand/internal/timer"
)

const (
	quietAfter   = 2 * time.Second // a session is parked after this time without a frame
	tickInterval = time.Second     // time between two calls of interruptQuiet
	parkingPause = time.Minute     // no parking for this time after the system had no resources for it
)

// parker parks quiet sessions. A parked session has no goroutine: a poller watches its
// socket. Its read loop continues in a new goroutine when bytes arrive, when the client
// disconnects, or when the server closes the session. Each tickInterval the timing wheel
// interrupts the read loops of quiet sessions, so that they park. While there is no
// session, there is no poller. Call init before use.
//
// A session is either parked, or its read loop runs. mu guards the change between the two
// states. The goroutine that unparks a session must start its read loop.
//
// Each parking of a session has a new number, its generation. An event contains the slot
// and the generation. A late event, for a closed socket or a session that already runs,
// has an old generation and is ignored.
// Example: slot 7 is parked as generation 41, runs, and is parked as 42; an event (7,
// 41) that arrives now does nothing.
type parker struct {
	wheel   *timer.Wheel
	now     func() int64
	metrics *metrics

	mu             sync.Mutex
	slots          []parkSlot // by slot number, from 0
	freeSlots      []uint32   // slot numbers
	lastGeneration uint32     // generation of the last parking of any session
	parkedCount    int
	poller         *poller // nil until the first session is parked
	newPoller      func() (*poller, error)

	quietAfter, tickInterval time.Duration
	pausedUntil              time.Duration // interruptQuiet does nothing before this time, since processStart
	tickScheduled            bool          // tickTimer is set
	tickTimer                timer.Timer
}

// parkSlot is a session's entry in the parker.
type parkSlot struct {
	*session   // nil if the slot is free
	generation uint32
	parked     bool
}

func (pk *parker) init(server *Server) {
	pk.wheel, pk.now, pk.metrics = server.Wheel, server.Now, server.metrics
	pk.quietAfter, pk.tickInterval, pk.newPoller = quietAfter, tickInterval, newPoller
}

// assignSlot gives a session a slot, if its connection can be parked. The caller must
// call it before other goroutines know the session.
func (pk *parker) assignSlot(se *session) {
	if se.conn.rawConn == nil || !canPoll {
		return
	}
	pk.mu.Lock()
	defer pk.mu.Unlock()
	if len(pk.freeSlots) == 0 {
		pk.freeSlots = append(pk.freeSlots, uint32(len(pk.slots)))
		pk.slots = append(pk.slots, parkSlot{})
	}
	last := len(pk.freeSlots) - 1
	se.parkSlotNumber = pk.freeSlots[last] + 1
	pk.freeSlots = pk.freeSlots[:last]
	pk.slots[se.parkSlotNumber-1] = parkSlot{session: se}
	pk.scheduleTick()
}

// freeSlot frees the slot of a session that ends. When all slots are free, it closes the
// poller and waits until the poller has ended.
func (pk *parker) freeSlot(se *session) {
	if se.parkSlotNumber == 0 {
		return
	}
	pk.mu.Lock()
	pk.slots[se.parkSlotNumber-1] = parkSlot{}
	pk.freeSlots = append(pk.freeSlots, se.parkSlotNumber-1)
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

// park parks the session of the calling read loop. If it returns true, the loop must end
// immediately: another goroutine may own the session. If it returns false, the loop
// continues.
func (pk *parker) park(se *session) bool {
	if se.parkSlotNumber == 0 || se.conn.reader.isMidMessage() {
		return false
	}
	pk.mu.Lock()
	poller := pk.ensurePoller()
	if poller == nil {
		pk.mu.Unlock()
		return false
	}
	pk.lastGeneration++
	generation := pk.lastGeneration
	pk.slots[se.parkSlotNumber-1].generation = generation
	pk.setParked(se.parkSlotNumber-1, true)
	pk.mu.Unlock()
	err := poller.requestEvent(se.conn.rawConn, uint64(generation)<<32|uint64(se.parkSlotNumber-1))
	return pk.confirmParked(se, generation, err)
}

// confirmParked finishes a parking after its event was requested; err is the error of
// that request. It returns true if the session is parked, or was unparked in the meantime
// and belongs to another goroutine. If the session is parked with a newer generation by
// now, this request may have replaced the newer request: confirmParked unparks the
// session.
func (pk *parker) confirmParked(se *session, generation uint32, err error) bool {
	pk.mu.Lock()
	defer pk.mu.Unlock()
	switch {
	case !pk.isParked(se):
	case pk.slots[se.parkSlotNumber-1].generation != generation:
		pk.unparkLocked(se.parkSlotNumber - 1)
	case err != nil || se.closing.Load() != nil:
		pk.setParked(se.parkSlotNumber-1, false)
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.ENOMEM) {
			pk.pausedUntil = sinceStart() + parkingPause
		}
		return false
	}
	return true
}

// isParked returns true if a session is parked. The caller holds mu.
func (pk *parker) isParked(se *session) bool {
	return int(se.parkSlotNumber) <= len(pk.slots) && pk.slots[se.parkSlotNumber-1].session == se && pk.slots[se.parkSlotNumber-1].parked
}

// unpark starts the read loop of a parked session; it does nothing if the session is not
// parked. A caller that closes a session sets session.closing first: confirmParked then
// sees it if the parking is not complete yet.
func (pk *parker) unpark(se *session) {
	if se.parkSlotNumber == 0 {
		return
	}
	pk.mu.Lock()
	defer pk.mu.Unlock()
	if pk.isParked(se) {
		pk.unparkLocked(se.parkSlotNumber - 1)
	}
}

// handleEvents unparks the sessions that the poller has reported. An event has the slot
// in its low 32 bits and the generation in its high 32 bits.
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

// setParked sets whether a session is parked, and counts it. The caller holds mu.
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

// ensurePoller returns the poller and creates it if there is none. It returns nil if the
// system has no resources for one. The caller holds mu.
func (pk *parker) ensurePoller() *poller {
	if pk.poller == nil {
		created, err := pk.newPoller()
		if err != nil {
			pk.pausedUntil = sinceStart() + parkingPause
			return nil
		}
		pk.poller = created
		go created.run(pk.handleEvents, pk.unparkAll) // close waits for it
	}
	return pk.poller
}

// scheduleTick sets the timer of interruptQuiet, if it is not set. The caller holds mu.
func (pk *parker) scheduleTick() {
	if !pk.tickScheduled {
		pk.tickScheduled = true
		pk.wheel.Set(&pk.tickTimer, pk.tickInterval, pk.interruptQuiet)
	}
}

// interruptQuiet makes quiet sessions park, and runs again until all are parked. While
// the system has no resources for more parked sessions, it interrupts no session: each
// interruption would cost more than the session's goroutine.
func (pk *parker) interruptQuiet() {
	for _, se := range pk.quietSessions() {
		se.conn.interrupt()
	}
}

// quietSessions returns the sessions that are not parked and have received no frame for
// quietAfter. While any session is not parked, it schedules the next tick.
func (pk *parker) quietSessions() (quiet []*session) {
	pk.mu.Lock()
	defer pk.mu.Unlock()
	pk.tickScheduled = false
	quietSince, unparked := pk.now()-pk.quietAfter.Milliseconds(), len(pk.slots)-len(pk.freeSlots)-pk.parkedCount
	if unparked == 0 {
		return nil
	}
	pk.scheduleTick()
	if sinceStart() < pk.pausedUntil {
		return nil
	}
	for _, slot := range pk.slots {
		if slot.session != nil && !slot.parked && slot.lastReceived.Load() <= quietSince {
			quiet = append(quiet, slot.session)
		}
	}
	return quiet
}
