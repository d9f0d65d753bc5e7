package timer

import (
	"sync"

	"github.com/RussellLuo/timingwheel"
)

// shardCount is how many shards share the slots, by tick, so that adding and
// stopping rarely wait for each other. It is a power of two.
const shardCount = 64

// shard holds the slots of every 64th tick, with their counters.
type shard struct {
	wheel *Wheel

	mu      sync.Mutex // held briefly; never during calls of the library
	closed  bool
	slots   map[int64]*slot // waiting slots by tick
	pending int             // waiting timers, also in due slots
	waiting int             // waiting timers in due slots
	stopped uint64

	_ [64]byte // keeps neighbours off the same cache line
}

// findOrAdd returns the slot of a tick and reports whether it is new. The
// caller must assign a new slot to a generation. The caller holds mu.
func (st *shard) findOrAdd(at int64) (s *slot, added bool) {
	if s = st.slots[at]; s != nil {
		return s, false
	}
	s = &slot{shard: st, tick: at}
	st.slots[at] = s
	return s, true
}

// removeIfEmpty removes an empty slot that is not due soon. Others stay for
// reuse, at most one for each tick of maxEntryWait. It returns the library
// entry that the caller must stop after it has unlocked mu. The caller holds
// mu.
func (st *shard) removeIfEmpty(s *slot) *timingwheel.Timer {
	if s.size > 0 || s.due || s.end()-st.wheel.now() <= maxEntryWait {
		return nil
	}
	delete(st.slots, s.tick)
	entry := s.entry
	s.entry = nil
	return entry
}

// waitingSlots returns a copy of the waiting slots.
func (st *shard) waitingSlots() []*slot {
	st.mu.Lock()
	defer st.mu.Unlock()
	waiting := make([]*slot, 0, len(st.slots))
	for _, s := range st.slots {
		waiting = append(waiting, s)
	}
	return waiting
}

// close stops the waiting timers and refuses new ones. The caller does not hold
// mu.
func (st *shard) close() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.closed = true
	for _, s := range st.slots {
		s.stopAllLocked()
	}
	clear(st.slots)
}
