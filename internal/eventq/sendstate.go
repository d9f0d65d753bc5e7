package eventq

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxWorkersPerGame = 8                     // that serve one game at a time
	maxLag            = 3 * time.Second       // with more, a game gets another worker
	slowSend          = time.Second           // an attempt this long makes a game slow
	maxMessages       = 16                    // of one take
	takeSendTime      = 20 * time.Millisecond // the attempts of one take may last this long together, judged by the last one
)

// sendState is what this node knows about sending one game's items.
type sendState struct {
	mu            sync.Mutex
	workers       int  // that serve the game, or wait in the pool for that
	wantedWorkers int  // above 1 while the game is behind
	isFailing     bool // whether its last attempt failed
	isSlow        bool // whether its last attempt was slow
	messages      int  // to take together

	drains atomic.Int32 // operators that drain it
}

// addWorker counts another worker of a due game, and reports whether it may
// start.
func (c *sendState) addWorker() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.workers >= max(c.wantedWorkers, 1) {
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

// class returns which share of the workers serves the game. No share limits a game
// that is hot or behind: its number of workers has a bound of its own.
func (g *game) class() string {
	c := &g.sending
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case g.Hot || c.wantedWorkers > 1:
		return classOwn
	case c.isSlow:
		return classSlow
	}
	return classShared
}

// recordSend records an attempt and its duration.
func (c *sendState) recordSend(good bool, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isFailing, c.isSlow, c.messages = !good, took > slowSend, 1
	if good {
		c.messages = min(1+int(takeSendTime/max(took, 1)), maxMessages)
	}
}

// takeSize returns how many messages to take together.
func (c *sendState) takeSize() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(c.messages, 1)
}

// recordTake decides how many workers the game needs, by how much too late the
// oldest item was taken and whether more full batches may be taken at once. More
// workers do not help a game whose attempts fail or are limited.
func (c *sendState) recordTake(lag time.Duration, more bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case lag < maxLag/2 || c.isFailing:
		c.wantedWorkers = 1
	case lag > maxLag && more:
		c.wantedWorkers = min(c.workers+1, maxWorkersPerGame)
	}
}
