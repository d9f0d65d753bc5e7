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
func (st *shard) findOrAdd(at int64) (s *slot, added bool) {
	if s = st.slots[at]; s != nil {
		return s, false
	}
	s = &slot{shard: st, tick: at}
	st.slots[at] = s
	return s, true
}

// removeIfEmpty removes a slot if it is empty and due later than maxEntryWait
// from now. Other empty slots stay for reuse, at most one per tick of
// maxEntryWait. It returns the library entry of a removed slot, or nil. The
// caller holds mu, and must stop the entry after it has unlocked mu.
func (st *shard) removeIfEmpty(s *slot) *timingwheel.Timer {
	if s.size > 0 || s.due || s.end()-st.wheel.now() <= maxEntryWait {
		return nil
	}
	delete(st.slots, s.tick)
	entry := s.entry
	s.entry = nil
	return entry
}

// waitingSlots returns the slots that are not due yet, in a new slice.
func (st *shard) waitingSlots() []*slot {
	st.mu.Lock()
	defer st.mu.Unlock()
	waiting := make([]*slot, 0, len(st.slots))
	for _, s := range st.slots {
		waiting = append(waiting, s)
	}
	return waiting
}

// close stops the timers in slots that are not due yet, and refuses new timers.
// The caller does not hold mu.
func (st *shard) close() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.closed = true
	for _, s := range st.slots {
		s.stopAllLocked()
	}
	clear(st.slots)
}
