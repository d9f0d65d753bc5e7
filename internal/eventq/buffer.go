package eventq

import (
	"sync"

	"laststand/internal/timer"
)

const (
	flushSize   = 256     // so many offered items are pushed at once
	maxBuffered = 200_000 // items of all games that are not pushed yet
	firstRoom   = 16      // items that a new buffer has room for
)

// gameBuffer holds what was offered to a game and is not in its queue yet.
type gameBuffer struct {
	mu       sync.Mutex
	items    []Item
	refused  map[Reason]int64
	push     *Push // what the collector pushes; the same again until the store has answered
	isClosed bool  // whether the service has ended
}

// addToBuffer adds an item. It counts the item as refused if there is a reason, or
// if the buffer is full.
func (s *intake) addToBuffer(g *game, item Item, reason Reason) {
	c := &g.buffer
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isClosed {
		s.metrics.flushLost.Inc()
		return
	}
	if reason == "" && (c.size() >= g.MaxLen || !s.hasRoom(g.partition)) {
		reason = QueueFull
	}
	if reason != "" {
		c.refuse(reason, 1)
	} else {
		if c.items == nil {
			c.items = make([]Item, 0, firstRoom)
		}
		c.items = append(c.items, item)
		s.addBuffered(g.partition, 1)
	}
	timer.Wake(g.partition.hasItems)
	if len(c.items) == flushSize {
		timer.Wake(g.partition.hasFullBuffer)
	}
}

// hasRoom reports whether the buffers of a partition may grow. They may hold as much
// as is free for all. So partitions whose store is unreachable leave room to the
// others: one holds at most a half, two hold at most a third each, and so on.
func (s *intake) hasRoom(p *partition) bool {
	return p.buffered.Load() < maxBuffered-s.buffered.Load()
}

func (s *intake) addBuffered(p *partition, n int) {
	p.buffered.Add(int64(n))
	s.buffered.Add(int64(n))
}

// isEmpty reports whether nothing waits to be pushed or counted.
func (c *gameBuffer) isEmpty() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.push == nil && len(c.items) == 0 && c.refused == nil
}

// size returns the number of items. The caller holds the lock.
func (c *gameBuffer) size() int {
	if c.push != nil {
		return len(c.items) + len(c.push.Items)
	}
	return len(c.items)
}

// refuse counts refused items. The caller holds the lock.
func (c *gameBuffer) refuse(reason Reason, n int64) {
	if c.refused == nil {
		c.refused = map[Reason]int64{}
	}
	c.refused[reason] += n
}

// nextPush returns what to push: the same push until finishPush or refusePush.
func (c *gameBuffer) nextPush(ids *idGenerator) *Push {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.push != nil {
		return c.push
	}
	n, most := 0, MaxOwnPush
	if len(c.items) > 0 && c.items[0].Unique {
		most = MaxPush
	}
	for n < min(len(c.items), most) && c.items[n].Unique == c.items[0].Unique {
		n++
	}
	c.push = &Push{ID: ids.next(), From: ids.processID, Items: c.items[:n:n], Refused: c.refused}
	c.items, c.refused = c.items[n:], nil
	return c.push
}

// refusePush counts the items of a push that changed nothing as dropped. The next
// push reports that.
func (c *gameBuffer) refusePush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for reason, n := range c.push.Refused {
		c.refuse(reason, n)
	}
	c.refuse(QueueFull, int64(len(c.push.Items)))
	c.push = nil
}

// finishPush forgets a push, and returns how many items are left.
func (c *gameBuffer) finishPush() (left int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.push = nil
	if len(c.items) == 0 {
		c.items = nil // it may share a large array
	}
	return len(c.items)
}

// close closes the buffer, and returns how many items it held. The next push counts
// those of them that cannot be in the queue.
func (c *gameBuffer) close() (lost int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if lost = c.size(); len(c.items) > 0 {
		c.refuse(Shutdown, int64(len(c.items)))
	}
	c.items, c.push, c.isClosed = nil, nil, true
	return lost
}
