package timer

import "sync"

// shardCount is the number of shards. With many shards, goroutines that add and
// stop timers rarely wait for the same mutex. It is a power of two.
const shardCount = 64

// shard holds the slots of every 64th tick, with their counters.
type shard struct {
	mu      sync.Mutex      // held briefly
	closed  bool            // true: no timer is added any more
	slots   map[int64]*slot // slots that are not due yet, by tick number
	pending int             // number of timers in all slots, due or not
	waiting int             // number of timers in due slots
	stopped uint64          // number of stopped timers

	_ [64]byte // keeps neighbouring shards off the same cache line
}

// close stops the timers in slots that are not due yet, and refuses new timers.
// The caller does not hold mu.
func (s *shard) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, slot := range s.slots {
		slot.wakeUp.Stop()
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
