package eventq

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	flushDelay     = 20 * time.Millisecond  // how long an offered item waits for others at the least
	maxFlushDelay  = 100 * time.Millisecond // and at the most, where they are few
	flushSize      = 256                    // items of a game that wait for no others
	maxBuffered    = 200_000                // items that are not pushed yet, of all games; of one the half
	bodyChunk      = 16 << 10               // bytes that are allocated together
	pushRetryDelay = 500 * time.Millisecond // until a failed push is repeated, or up to half as much more
	flushTimeout   = 4 * time.Second        // how long an end goes on pushing
	lossTimeout    = time.Second            // and how long it then counts what it could not push
)

// collected is what was offered to a game and is not in its queue yet.
type gameBuffer struct {
	mu           sync.Mutex
	items        []Item
	bodies       []byte // theirs, the latest at the end
	refused      map[Reason]int64
	pushingCount int  // items of the push below
	lastPushSize int  // items of the last push
	isListed     bool // with the collector, which looks at it again
	isClosed     bool // the service has ended

	// The collector's.
	waitingSince time.Time // when the time began for which few items wait; zero: not yet
	push         *Push     // what it pushes; the same again until the store has answered
	hasMore      bool      // there was more than fits into it, which has waited as long
}

// hold takes an item that may be reported to the collector, and a copy of its
// body, or counts it as refused.
func (s *Service) addToBuffer(g *game, item Item, body []byte, reason Reason) {
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
		signal(g.partition.hasFullBuffer)
	}
}

func (c *gameBuffer) isEmpty() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.items)+c.pushingCount == 0
}

// add adds an item, and its body beside those of the items before it. There is
// room at once for as many as were pushed the last time.
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

// collect pushes what is offered to a partition's games, until the context ends
// and what was offered before is pushed or lost. A push whose outcome is unknown
// is repeated; meanwhile other games are pushed.
func (s *Service) runCollector(ctx context.Context, p *partition) {
	pushing, cancel := withGrace(ctx, flushTimeout)
	defer cancel()
	var failing []*game
	var retry <-chan time.Time // to repeat those
	for ctx.Err() == nil {
		if len(failing) > 0 && retry == nil {
			retry = time.After(pushRetryDelay + rand.N(pushRetryDelay/2)) //nolint:gosec // a wait is no secret
		}
		select {
		case <-p.hasItems:
			p.waitForItems(ctx)
			failing = append(failing, s.pushAll(pushing, p.removeDue(time.Now()))...)
		case <-retry:
			retry = nil
			failing = s.pushAll(pushing, failing)
		case <-ctx.Done():
		}
	}
	s.flushAtEnd(pushing, p, failing)
}

// outlast is a context that ends so long after another one.
func withGrace(ctx context.Context, d time.Duration) (longer context.Context, cancel context.CancelFunc) {
	longer, cancel = context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { time.AfterFunc(d, cancel) })
	return longer, cancel
}

func (p *partition) waitForItems(ctx context.Context) {
	timer := time.NewTimer(flushDelay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.hasFullBuffer:
	case <-ctx.Done():
	}
}

// ripe says whether to push what a game has collected: few items wait for others,
// a tenth of what they may wait in the queue at the most, until it is time for
// those of all the partition's games.
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

// next is what to push: the same until it is done.
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

// giveUp makes another push of one that changed nothing, without its items.
func (c *gameBuffer) dropItems(p *Push, ids *idGenerator) {
	c.mu.Lock()
	defer c.mu.Unlock()
	refused := map[Reason]int64{QueueFull: int64(len(p.Items))}
	for reason, n := range p.Refused {
		refused[reason] += n
	}
	c.push, c.pushingCount = &Push{ID: ids.next(), From: ids.processID, Refused: refused}, 0
}

// done forgets a push, and says how many items are left, -1 where nothing is.
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
