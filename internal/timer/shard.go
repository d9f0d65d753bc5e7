package timer

import (
	"sync"

	"github.com/RussellLuo/timingwheel"
)

// shardCount share the slots among them by tick, so that adding and stopping
// seldom wait for each other. A power of two.
const shardCount = 64

// shard is the slots of every 64th tick, and all that is counted of them.
type shard struct {
	wheel *Wheel

	mu      sync.Mutex // held for moments; never while the library is called
	closed  bool
	slots   map[int64]*slot // that wait, by tick
	pending int             // timers that wait, in slots that are due too
	waiting int             // of these in slots that are due
	stopped uint64

	_ [64]byte // neighbours are not on one cache line
}

// findOrAdd finds or makes the slot of a tick; fresh ones must be armed. The caller
// holds mu.
func (st *shard) findOrAdd(at int64) (s *slot, added bool) {
	if s = st.slots[at]; s != nil {
		return s, false
	}
	s = &slot{shard: st, tick: at}
	st.slots[at] = s
	return s, true
}

// removeIfEmpty lets go of a slot that has been emptied, if it is not due soon: others
// are left to be used again, at most one for each tick of a hop. It returns
// what is to be stopped at the library once mu is free. The caller holds mu.
func (st *shard) removeIfEmpty(s *slot) *timingwheel.Timer {
	if s.size > 0 || s.due || s.end()-st.wheel.now() <= maxEntryWait {
		return nil
	}
	delete(st.slots, s.tick)
	entry := s.entry
	s.entry = nil
	return entry
}

// waitingSlots is a copy of what waits now.
func (st *shard) waitingSlots() []*slot {
	st.mu.Lock()
	defer st.mu.Unlock()
	waiting := make([]*slot, 0, len(st.slots))
	for _, s := range st.slots {
		waiting = append(waiting, s)
	}
	return waiting
}

// close stops what waits, and refuses what comes. The caller does not hold mu.
func (st *shard) close() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.closed = true
	for _, s := range st.slots {
		s.stopAllLocked()
	}
	clear(st.slots)
}
