package eventq

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxMessages  = 16                    // of one take
	takeSendTime = 20 * time.Millisecond // the attempts of one take may last this long together, judged by the last one
)

// sendState is what this node knows about sending one game's items.
type sendState struct {
	mu       sync.Mutex
	workers  int // that serve the game, or wait in the pool for that
	messages int // to take together; 0: the last attempt failed, or there was none

	drains atomic.Int32 // operators that drain it
}

// addWorker counts another worker, and reports whether it may start: not beyond the
// given number, and only one while attempts fail, because more do not help then.
func (c *sendState) addWorker(most int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.workers >= most || c.workers > 0 && c.messages == 0 {
		return false
	}
	c.workers++
	return true
}

func (c *sendState) removeWorker() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.workers--
}

// isShared reports whether several workers serve the game, as it is behind.
func (c *sendState) isShared() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.workers > 1
}

// recordSend records an attempt and its duration.
func (c *sendState) recordSend(good bool, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.messages = 0; good {
		c.messages = min(1+int(takeSendTime/max(took, 1)), maxMessages)
	}
}

// takeSize returns how many messages to take together.
func (c *sendState) takeSize() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(c.messages, 1)
}
