package timer

import (
	"sync"

	"github.com/RussellLuo/timingwheel"
)

// shardCount is the number of shards. With many shards, goroutines that add and
// stop timers rarely wait for the same mutex. It is a power of two.
const shardCount = 64

// shard holds the slots of every 64th tick, with their counters.
type shard struct {
	wheel *Wheel

	mu      sync.Mutex      // held briefly; never during calls of the library
	closed  bool            // true: no timer is added any more
	slots   map[int64]*slot // slots that are not due yet, by tick number
	pending int             // number of timers in all slots, due or not
	waiting int             // number of timers in due slots
	stopped uint64          // number of stopped timers

	_ [64]byte // keeps neighbouring shards off the same cache line
}

// findOrAdd returns the slot of a tick that is not due yet, and reports whether
// the slot is new. The caller must assign a new slot to a generation. The caller
// holds mu.
func (s *shard) findOrAdd(tickNumber int64) (found *slot, added bool) {
	if found = s.slots[tickNumber]; found != nil {
		return found, false
	}
	found = &slot{shard: s, tickNumber: tickNumber}
	s.slots[tickNumber] = found
	return found, true
}

// removeIfEmpty removes a slot if it is empty and due later than maxEntryWait
// from now. Other empty slots stay for reuse, at most one per tick of
// maxEntryWait. It returns the library entry of a removed slot, or nil. The
// caller holds mu, and must stop the entry after it has unlocked mu.
func (s *shard) removeIfEmpty(slot *slot) *timingwheel.Timer {
	if slot.size > 0 || slot.isDue || slot.dueTime()-s.wheel.now() <= maxEntryWait {
		return nil
	}
	delete(s.slots, slot.tickNumber)
	entry := slot.entry
	slot.entry = nil
	return entry
}

// waitingSlots returns the slots that are not due yet, in a new slice.
func (s *shard) waitingSlots() []*slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := make([]*slot, 0, len(s.slots))
	for _, slot := range s.slots {
		waiting = append(waiting, slot)
	}
	return waiting
}

// close stops the timers in slots that are not due yet, and refuses new timers.
// The caller does not hold mu.
func (s *shard) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, slot := range s.slots {
		slot.stopAllLocked()
	}
	clear(s.slots)
}
