package eventq

import (
	"sync"

	"laststand/internal/timer"
)

const (
	flushSize   = 256      // so many offered items are pushed at once
	maxBuffered = 200_000  // items of all games that are not pushed yet
	bodyChunk   = 16 << 10 // bytes that are allocated together
)

// gameBuffer holds what was offered to a game and is not in its queue yet.
type gameBuffer struct {
	mu           sync.Mutex
	items        []Item
	bodies       []byte // the bodies of the items, the latest at the end
	refused      map[Reason]int64
	push         *Push // what the collector pushes; the same again until the store has answered
	lastPushSize int   // items of the last push
	isListed     bool  // whether the partition has listed the game, so that the collector looks at it
	isClosed     bool  // whether the service has ended
}

// addToBuffer adds an item and a copy of its body. It counts the item as
// refused if there is a reason, or if the buffer is full.
func (s *intake) addToBuffer(g *game, item Item, body []byte, reason Reason) {
	c := &g.buffer
	c.mu.Lock()
	if c.isClosed {
		c.mu.Unlock()
		s.metrics.flushLost.Inc()
		return
	}
	if reason == "" && (c.size() >= g.MaxLen || !s.hasRoom(g.partition)) {
		reason = QueueFull
	}
	if reason == "" {
		c.add(item, body)
		s.addBuffered(g.partition, 1)
	} else {
		c.countRefused(reason)
	}
	isFull, isNew := len(c.items) == flushSize, !c.isListed
	c.isListed = true
	c.mu.Unlock()
	if isNew {
		g.partition.add(g)
	}
	if isFull {
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

func (c *gameBuffer) isEmpty() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size() == 0
}

// size returns the number of items. The caller holds the lock.
func (c *gameBuffer) size() int {
	if c.push != nil {
		return len(c.items) + len(c.push.Items)
	}
	return len(c.items)
}

// add appends an item. The bodies of many items share one allocation, sized by
// the last push.
func (c *gameBuffer) add(item Item, body []byte) {
	if len(c.items) == 0 {
		c.items = make([]Item, 0, c.lastPushSize+1)
	}
	if len(body) > cap(c.bodies)-len(c.bodies) {
		c.bodies = make([]byte, 0, max(min(c.lastPushSize*len(body), bodyChunk), len(body)))
	}
	from := len(c.bodies)
	c.bodies = append(c.bodies, body...)
	item.Body = c.bodies[from:len(c.bodies):len(c.bodies)]
	c.items = append(c.items, item)
}

func (c *gameBuffer) countRefused(reason Reason) {
	if c.refused == nil {
		c.refused = map[Reason]int64{}
	}
	c.refused[reason]++
}

// nextPush returns what to push: the same push until finishPush.
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
	c.lastPushSize, c.items, c.refused = n, c.items[n:], nil
	return c.push
}

// dropItems replaces a push that changed nothing by one that only counts its
// items as dropped.
func (c *gameBuffer) dropItems(p *Push, ids *idGenerator) {
	c.mu.Lock()
	defer c.mu.Unlock()
	refused := map[Reason]int64{QueueFull: int64(len(p.Items))}
	for reason, n := range p.Refused {
		refused[reason] += n
	}
	c.push = &Push{ID: ids.next(), From: ids.processID, Refused: refused}
}

// finishPush forgets a push. It returns how many items are left, or -1 if
// nothing is left.
func (c *gameBuffer) finishPush() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.push = nil
	if len(c.items) > 0 || c.refused != nil {
		return len(c.items)
	}
	c.items, c.bodies, c.isListed = nil, nil, false
	return -1
}

// close closes the buffer. It returns how many items it held, and a push that counts
// those of them that cannot be in the queue.
func (c *gameBuffer) close(ids *idGenerator) (lost int, count Push) {
	c.mu.Lock()
	defer c.mu.Unlock()
	lost, count = c.size(), Push{ID: ids.next(), Refused: c.refused}
	if len(c.items) > 0 {
		if count.Refused == nil {
			count.Refused = map[Reason]int64{}
		}
		count.Refused[Shutdown] = int64(len(c.items))
	}
	c.items, c.bodies, c.push, c.refused, c.isClosed = nil, nil, nil, nil, true
	return lost, count
}
