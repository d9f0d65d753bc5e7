package timer

import (
	"maps"
	"slices"
	"sync"
)

// shardCount is the number of shards. With many shards, goroutines that add and
// stop timers rarely wait for the same mutex. It is a power of two.
const shardCount = 64

// shard holds the slots of every 64th tick, with their counters.
type shard struct {
	mu      sync.Mutex      // held briefly; never during calls of the library
	closed  bool            // true: no timer is added any more
	slots   map[int64]*slot // slots that are not due yet, by tick number
	pending int             // number of timers in all slots, due or not
	waiting int             // number of timers in due slots
	stopped uint64          // number of stopped timers

	_ [64]byte // keeps neighbouring shards off the same cache line
}

// findOrAdd returns the slot of a tick that is not due yet, and reports whether
// the slot is new. The caller must schedule a new slot. The caller holds mu.
func (s *shard) findOrAdd(tickNumber int64) (found *slot, added bool) {
	if found = s.slots[tickNumber]; found != nil {
		return found, false
	}
	found = &slot{shard: s, tickNumber: tickNumber}
	s.slots[tickNumber] = found
	return found, true
}

// waitingSlots returns the slots that are not due yet.
func (s *shard) waitingSlots() []*slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.slots))
}

func (s *shard) hasSlotBefore(tickNumber int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for number := range s.slots {
		if number < tickNumber {
			return true
		}
	}
	return false
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

func (s *shard) addTo(stats *Stats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats.Pending += s.pending
	stats.Waiting += s.waiting
	stats.Slots += len(s.slots)
	stats.Stopped += s.stopped
}
