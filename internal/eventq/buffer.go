package eventq

import "sync"

const (
	maxBuffered = 200_000 // items of all games that are not pushed yet, without their equal shares of as many
	firstRoom   = 16      // items that a new buffer has room for
)

// gameBuffer holds what was offered to a game and is not in its queue yet.
type gameBuffer struct {
	mu       sync.Mutex
	items    []Item
	refused  map[Reason]int64
	pushing  int  // items of a push without an answer
	isFilled bool // something waits to be pushed or counted
	isClosed bool // the service has ended
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
	if held := b.size(); reason == "" && (held >= g.MaxLen || !s.hasRoom(held)) {
		reason = QueueFull
	}
	if reason != "" {
		b.refuse(reason, 1)
	} else {
		if b.items == nil {
			b.items = make([]Item, 0, firstRoom)
		}
		b.items = append(b.items, item)
		s.buffered.Add(1)
	}
	if !b.isFilled {
		b.isFilled = true
		s.filled <- g // has room for all games
	}
}

// hasRoom reports whether the buffer of a game may grow. It may always hold an equal
// share, and more while there is room. So games whose store is unreachable leave room to
// the others.
func (s *intake) hasRoom(held int) bool {
	return s.buffered.Load() < maxBuffered || held < maxBuffered/len(s.games)
}

// isEmpty reports whether nothing waits to be pushed or counted.
func (b *gameBuffer) isEmpty() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.isFilled
}

// size returns the number of items. The caller holds the lock.
func (b *gameBuffer) size() int { return len(b.items) + b.pushing }

// refuse counts refused items. The caller holds the lock.
func (b *gameBuffer) refuse(reason Reason, n int64) {
	if b.refused == nil {
		b.refused = map[Reason]int64{}
	}
	b.refused[reason] += n
}

// nextPush returns what to push until finishPush. It returns nil if that is nothing.
func (b *gameBuffer) nextPush(ids idGenerator) *Push {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.isFilled = len(b.items) > 0 || b.refused != nil; !b.isFilled {
		return nil
	}
	n, most := 0, MaxOwnPush
	if len(b.items) > 0 && b.items[0].Unique {
		most = MaxPush
	}
	for n < min(len(b.items), most) && b.items[n].Unique == b.items[0].Unique {
		n++
	}
	p := &Push{ID: ids.next(), From: ids.processID, Items: b.items[:n:n], Refused: b.refused}
	b.items, b.refused, b.pushing = b.items[n:], nil, n
	return p
}

// finishPush forgets a push, and returns how many items are left.
func (b *gameBuffer) finishPush() (left int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pushing = 0
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
	b.items, b.pushing, b.isClosed = nil, 0, true
	return lost
}
