package crowd

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"laststand/loadtest/player"
	"laststand/loadtest/rig"
	"laststand/loadtest/swarm/tally"
	"laststand/loadtest/swarm/truth"
)

// Crowd is all of them at work.
type Crowd struct {
	Order
	tally     tally.Tally
	book      player.Book
	connected atomic.Int64
	playing   atomic.Int64 // in a match that is not over
	posted    atomic.Int64

	life    context.Context // at its end everybody is gone at once
	closing context.Context // at its end nothing new is begun
	close   context.CancelFunc
	working sync.WaitGroup
	begin   *time.Ticker // paces connections; nil: all at once

	mu      sync.Mutex
	people  []*person
	groups  []context.CancelFunc // of duellists, one each
	seen    []truth.Seen
	untrue  []string
	untold  int
	travels player.Travels
}

// Start has a crowd begin. Nobody is left when Wait has returned.
func Start(ctx context.Context, o Order) *Crowd {
	c := &Crowd{Order: o, life: ctx}
	c.closing, c.close = context.WithCancel(ctx)
	if o.Connects > 0 {
		c.begin = time.NewTicker(time.Duration(float64(time.Second) / o.Connects))
	}
	c.working.Go(c.enter)
	return c
}

// enter has everybody begin, one after another.
func (c *Crowd) enter() {
	for i := range c.Halls {
		c.open(i)
	}
	c.Duel(c.Duellists)
	for i := range c.Idle + c.Watchers {
		if !c.turn() {
			return
		}
		c.working.Go(func() { c.sit(i, i >= c.Idle) })
	}
	for i := range c.Readers {
		c.working.Go(func() { c.read(i) })
	}
	if c.Behaviours > 0 {
		c.working.Go(c.post)
	}
}

// turn waits until the next connection may be begun; false: there is none.
func (c *Crowd) turn() bool {
	if c.begin == nil {
		return c.closing.Err() == nil
	}
	select {
	case <-c.closing.Done():
		return false
	case <-c.begin.C:
		return true
	}
}

// Duel has as many duellists there as is said: new ones begin, or the newest
// leave when their match is over.
func (c *Crowd) Duel(n int) {
	for {
		c.mu.Lock()
		has := len(c.groups)
		if has > n {
			c.groups[has-1]()
			c.groups = c.groups[:has-1]
		}
		c.mu.Unlock()
		if has > n {
			continue
		}
		if has == n || !c.turn() {
			return
		}
		c.addDuellist()
	}
}

func (c *Crowd) addDuellist() {
	group, quit := context.WithCancel(c.closing)
	c.mu.Lock()
	c.groups = append(c.groups, quit)
	c.mu.Unlock()
	c.working.Go(func() {
		defer quit()
		p, err := c.newPerson(group, "player")
		if err != nil {
			c.ended(p, err)
			return
		}
		defer p.leave()
		for err == nil && group.Err() == nil {
			err = p.play(group, duel())
		}
		c.ended(p, err)
	})
}

// Stop has everybody play what they are in to its end, and go.
func (c *Crowd) Stop() { c.close() }

// Wait waits until all have gone, after Stop or the end of the context.
func (c *Crowd) Wait() {
	c.working.Wait()
	if c.begin != nil {
		c.begin.Stop()
	}
	c.close()
}

// mostUntrue bounds what is kept of untruths until it is said.
const mostUntrue = 20

func (c *Crowd) say(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.untrue) == mostUntrue {
		c.untold++
		return
	}
	c.untrue = append(c.untrue, fmt.Sprintf("%s %s: ", time.Now().Format("15:04:05.000"), c.Name)+fmt.Sprintf(format, args...))
}

// Said is what there is to say since it was called last.
func (c *Crowd) Said() (s Said, err error) {
	slice, err := c.tally.Take()
	c.mu.Lock()
	defer c.mu.Unlock()
	s = Said{
		At: time.Now().UnixMilli(), Connected: c.connected.Load(), Playing: c.playing.Load(), Slice: slice, Seen: c.seen, Untrue: c.untrue, Untold: c.untold,
	}
	c.seen, c.untrue, c.untold = nil, nil, 0
	return s, err
}

// Done is what there is to say when all have gone and Check has ended.
func (c *Crowd) Done(checked, unsure int) *Done {
	return &Done{Travels: c.travels, Posted: c.posted.Load(), Checked: checked, Unsure: unsure}
}

// server is the one that a number comes to: all have as many.
func (c *Crowd) server(n int) string { return c.Servers[n%len(c.Servers)] }

// from is where the nth connection of the crowd comes from; nil: anywhere.
func (c *Crowd) from(n int) *net.Dialer {
	if !c.Sources {
		return nil
	}
	return rig.Source((c.First + n) / rig.PerSource)
}

// pause waits; false where the crowd closes meanwhile.
func (c *Crowd) pause(d time.Duration) bool {
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-c.closing.Done():
		return false
	case <-wait.C:
		return true
	}
}
