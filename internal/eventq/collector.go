package eventq

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	linger     = 20 * time.Millisecond  // how long an offered item waits for others at the least
	lingerMost = 100 * time.Millisecond // and at the most, where they are few
	pushful    = 256                    // items of a game that wait for no others
	maxHeld    = 200_000                // items that are not pushed yet, of all games; of one the half
	mostBodies = 16 << 10               // bytes that are allocated together
	repeat     = 500 * time.Millisecond // until a failed push is repeated, or up to half as much more
	flushing   = 4 * time.Second        // how long an end goes on pushing
	closing    = time.Second            // and how long it then counts what it could not push
)

// collected is what was offered to a game and is not in its queue yet.
type collected struct {
	mu      sync.Mutex
	items   []Item
	bodies  []byte // theirs, the latest at the end
	refused map[Reason]int64
	pushing int  // items of the push below
	usual   int  // items of the last push
	listed  bool // with the collector, which looks at it again
	closed  bool // the service has ended

	// The collector's.
	since time.Time // when the time began for which few items wait; zero: not yet
	push  *Push     // what it pushes; the same again until the store has answered
	more  bool      // there was more than fits into it, which has waited as long
}

// hold takes an item that may be reported to the collector, and a copy of its
// body, or counts it as refused.
func (s *Service) hold(g *game, item Item, body []byte, reason Reason) {
	c := &g.collected
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		s.metrics.unpushed.Inc()
		return
	}
	if reason == "" && (len(c.items)+c.pushing >= min(g.MaxLen, maxHeld/2) || s.held.Load() >= maxHeld) {
		reason = QueueFull
	}
	if reason == "" {
		c.add(item, body)
		s.held.Add(1)
	} else {
		c.refuse(reason)
	}
	enough, news := len(c.items) == pushful, !c.listed
	c.listed = true
	c.mu.Unlock()
	if news {
		g.partition.list(g)
	}
	if enough {
		signal(g.partition.full)
	}
}

func (c *collected) empty() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.items)+c.pushing == 0
}

// add adds an item, and its body beside those of the items before it. There is
// room at once for as many as were pushed the last time.
func (c *collected) add(item Item, body []byte) {
	if len(c.items) == 0 {
		c.items = make([]Item, 0, c.usual+1)
	}
	if len(body) > cap(c.bodies)-len(c.bodies) {
		c.bodies = make([]byte, 0, max(min(c.usual*len(body), mostBodies), len(body)))
	}
	from := len(c.bodies)
	c.bodies = append(c.bodies, body...)
	item.Body = c.bodies[from:len(c.bodies):len(c.bodies)]
	c.items = append(c.items, item)
}

func (c *collected) refuse(reason Reason) {
	if c.refused == nil {
		c.refused = map[Reason]int64{}
	}
	c.refused[reason]++
}

// collect pushes what is offered to a partition's games, until the context ends
// and what was offered before is pushed or lost. A push whose outcome is unknown
// is repeated; meanwhile other games are pushed.
func (s *Service) collect(ctx context.Context, p *partition) {
	pushing, cancel := outlast(ctx, flushing)
	defer cancel()
	var failing []*game
	var again <-chan time.Time // to repeat those
	for ctx.Err() == nil {
		if len(failing) > 0 && again == nil {
			again = time.After(repeat + rand.N(repeat/2)) //nolint:gosec // a wait is no secret
		}
		select {
		case <-p.wake:
			p.linger(ctx)
			failing = append(failing, s.pushAll(pushing, p.takeRipe(time.Now()))...)
		case <-again:
			again = nil
			failing = s.pushAll(pushing, failing)
		case <-ctx.Done():
		}
	}
	s.flush(pushing, p, failing)
}

// outlast is a context that ends so long after another one.
func outlast(ctx context.Context, d time.Duration) (longer context.Context, cancel context.CancelFunc) {
	longer, cancel = context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { time.AfterFunc(d, cancel) })
	return longer, cancel
}

func (p *partition) linger(ctx context.Context) {
	timer := time.NewTimer(linger)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.full:
	case <-ctx.Done():
	}
}

// ripe says whether to push what a game has collected: few items wait for others,
// a tenth of what they may wait in the queue at the most, until it is time for
// those of all the partition's games.
func (g *game) ripe(now time.Time) bool {
	c := &g.collected
	c.mu.Lock()
	defer c.mu.Unlock()
	wait := min(time.Duration(g.FlushMS)*time.Millisecond/10, lingerMost)
	if wait > linger && len(c.items) < g.BatchSize {
		if c.since.IsZero() {
			c.since = now.Add(-(now.Sub(g.partition.began) % wait))
		}
		if now.Sub(c.since) < wait {
			return false
		}
	}
	c.since = time.Time{}
	return true
}

// next is what to push: the same until it is done.
func (c *collected) next(ids *naming) *Push {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.push != nil {
		return c.push
	}
	n, most := 0, MaxOwnPush
	if len(c.items) > 0 && c.items[0].Once {
		most = MaxPush
	}
	for n < min(len(c.items), most) && c.items[n].Once == c.items[0].Once {
		n++
	}
	c.push = &Push{ID: ids.next(), From: ids.process, Items: c.items[:n:n], Refused: c.refused}
	c.pushing, c.usual, c.more, c.items, c.refused = n, n, n < len(c.items), c.items[n:], nil
	return c.push
}

// giveUp makes another push of one that changed nothing, without its items.
func (c *collected) giveUp(p *Push, ids *naming) {
	c.mu.Lock()
	defer c.mu.Unlock()
	refused := map[Reason]int64{QueueFull: int64(len(p.Items))}
	for reason, n := range p.Refused {
		refused[reason] += n
	}
	c.push, c.pushing = &Push{ID: ids.next(), From: ids.process, Refused: refused}, 0
}

// done forgets a push, and says how many items are left, -1 where nothing is.
func (c *collected) done() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.push, c.pushing = nil, 0
	if c.more {
		c.since = time.Unix(0, 0)
	}
	if len(c.items) > 0 || c.refused != nil {
		return len(c.items)
	}
	c.items, c.bodies, c.listed = nil, nil, false
	return -1
}
