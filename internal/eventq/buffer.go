package eventq

import (
	"sync"
	"time"

	"laststand/internal/timer"
)

const (
	flushDelay    = 20 * time.Millisecond  // an offered item waits at least this long for others
	maxFlushDelay = 100 * time.Millisecond // and at most this long, if there are few items
	flushSize     = 256                    // so many offered items are pushed at once
	maxBuffered   = 200_000                // items of all games that are not pushed yet; one game may have half
	bodyChunk     = 16 << 10               // bytes that are allocated together
)

// gameBuffer holds what was offered to a game and is not in its queue yet.
type gameBuffer struct {
	mu           sync.Mutex
	items        []Item
	bodies       []byte // the bodies of the items, the latest at the end
	refused      map[Reason]int64
	pushingCount int  // items of the push below
	lastPushSize int  // items of the last push
	isListed     bool // whether the partition has listed the game, so that the collector looks at it
	isClosed     bool // whether the service has ended

	// The collector owns the fields below.
	waitingSince time.Time // when the wait of few items began; zero: not yet
	push         *Push     // what it pushes; the same again until the store has answered
	hasMore      bool      // whether items are left that did not fit into the push
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
	if reason == "" && (len(c.items)+c.pushingCount >= min(g.MaxLen, maxBuffered/2) || s.buffered.Load() >= maxBuffered) {
		reason = QueueFull
	}
	if reason == "" {
		c.add(item, body)
		s.buffered.Add(1)
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

func (c *gameBuffer) isEmpty() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.items)+c.pushingCount == 0
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

// isFlushDue reports whether to push the buffer of a game. Few items wait for
// others, at most a tenth of the time that they may wait in the queue. All
// games of a partition are pushed at the same times.
func (g *game) isFlushDue(now time.Time) bool {
	c := &g.buffer
	c.mu.Lock()
	defer c.mu.Unlock()
	wait := min(time.Duration(g.FlushMS)*time.Millisecond/10, maxFlushDelay)
	if wait > flushDelay && len(c.items) < g.BatchSize {
		if c.waitingSince.IsZero() {
			c.waitingSince = now.Add(-(now.Sub(g.partition.startedAt) % wait))
		}
		if now.Sub(c.waitingSince) < wait {
			return false
		}
	}
	c.waitingSince = time.Time{}
	return true
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
	c.pushingCount, c.lastPushSize, c.hasMore, c.items, c.refused = n, n, n < len(c.items), c.items[n:], nil
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
	c.push, c.pushingCount = &Push{ID: ids.next(), From: ids.processID, Refused: refused}, 0
}

// finishPush forgets a push. It returns how many items are left, or -1 if
// nothing is left.
func (c *gameBuffer) finishPush() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.push, c.pushingCount = nil, 0
	if c.hasMore {
		c.waitingSince = time.Unix(0, 0)
	}
	if len(c.items) > 0 || c.refused != nil {
		return len(c.items)
	}
	c.items, c.bodies, c.isListed = nil, nil, false
	return -1
}

// losses are what a game had not pushed when the service ended.
type losses struct {
	untried int64 // items that were in no push
	unknown int64 // items of a push without an answer, which may be queued
	refused map[Reason]int64
}

// takeLosses closes the buffer and returns what it held.
func (c *gameBuffer) takeLosses() (l losses, hasLosses bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l = losses{untried: int64(len(c.items)), unknown: int64(c.pushingCount), refused: c.refused}
	c.items, c.bodies, c.push, c.refused, c.pushingCount, c.isClosed = nil, nil, nil, nil, 0, true
	return l, l.untried+l.unknown > 0 || l.refused != nil
}
