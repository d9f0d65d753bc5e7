package eventq

import (
	"sync"

	"laststand/internal/timer"
)

const (
	flushSize   = 256     // with so many offered items a push starts at once
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
	b := &g.buffer
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.isClosed {
		s.metrics.flushLost.Inc()
		return
	}
	if reason == "" && (b.size() >= g.MaxLen || !s.hasRoom(g.partition)) {
		reason = QueueFull
	}
	if reason != "" {
		b.refuse(reason, 1)
	} else {
		if b.items == nil {
			b.items = make([]Item, 0, firstRoom)
		}
		b.items = append(b.items, item)
		s.addBuffered(g.partition, 1)
	}
	timer.Wake(g.partition.hasItems)
	if len(b.items) == flushSize {
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
func (b *gameBuffer) isEmpty() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.push == nil && len(b.items) == 0 && b.refused == nil
}

// size returns the number of items. The caller holds the lock.
func (b *gameBuffer) size() int {
	if b.push != nil {
		return len(b.items) + len(b.push.Items)
	}
	return len(b.items)
}

// refuse counts refused items. The caller holds the lock.
func (b *gameBuffer) refuse(reason Reason, n int64) {
	if b.refused == nil {
		b.refused = map[Reason]int64{}
	}
	b.refused[reason] += n
}

// nextPush returns what to push: the same push until finishPush.
func (b *gameBuffer) nextPush(ids *idGenerator) *Push {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.push != nil {
		return b.push
	}
	n, most := 0, MaxOwnPush
	if len(b.items) > 0 && b.items[0].Unique {
		most = MaxPush
	}
	for n < min(len(b.items), most) && b.items[n].Unique == b.items[0].Unique {
		n++
	}
	b.push = &Push{ID: ids.next(), From: ids.processID, Items: b.items[:n:n], Refused: b.refused}
	b.items, b.refused = b.items[n:], nil
	return b.push
}

// finishPush forgets a push, and returns how many items are left.
func (b *gameBuffer) finishPush() (left int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.push = nil
	if len(b.items) == 0 {
		b.items = nil // it may share a large array
	}
	return len(b.items)
}

// close closes the buffer, and returns how many items it held. The next push counts
// those of them that cannot be in the queue.
func (b *gameBuffer) close() (lost int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if lost = b.size(); len(b.items) > 0 {
		b.refuse(Shutdown, int64(len(b.items)))
	}
	b.items, b.push, b.isClosed = nil, nil, true
	return lost
}
