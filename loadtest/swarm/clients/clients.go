package clients

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	player "laststand/loadtest/client"
	"laststand/loadtest/swarm/rules"
	"laststand/loadtest/swarm/stats"
)

// Clients is a set of running clients.
type Clients struct {
	Plan
	stats     stats.Recorder
	solutions player.Solutions
	connected atomic.Int64
	playing   atomic.Int64 // players in a match that is not over
	posted    atomic.Int64

	ctx           context.Context // when it ends, all clients stop at once
	closing       context.Context // when it ends, clients start nothing new
	close         context.CancelFunc
	tasks         sync.WaitGroup
	connectTicker *time.Ticker // paces connections; nil: no limit

	mu         sync.Mutex
	clients    []*client
	groups     []context.CancelFunc // one per group of duellists
	digests    []rules.Digest
	violations []string
	omitted    int
	reconnects player.Reconnects
}

// Start starts the clients. All of them have ended when Wait returns.
func Start(ctx context.Context, o Plan) *Clients {
	c := &Clients{Plan: o, ctx: ctx}
	c.closing, c.close = context.WithCancel(ctx)
	if o.Connects > 0 {
		c.connectTicker = time.NewTicker(time.Duration(float64(time.Second) / o.Connects))
	}
	c.tasks.Go(c.startAll)
	return c
}

// startAll starts the clients one after another.
func (c *Clients) startAll() {
	for i := range c.ArenaGroups {
		c.startArenaGroup(i)
	}
	c.SetDuellists(c.Duellists)
	for i := range c.Idle + c.Watchers {
		if !c.waitToConnect() {
			return
		}
		c.tasks.Go(func() { c.keepIdle(i, i >= c.Idle) })
	}
	for i := range c.Readers {
		c.tasks.Go(func() { c.readBoards(i) })
	}
	if c.Behaviours > 0 {
		c.tasks.Go(c.postBehaviours)
	}
}

// waitToConnect waits until the next client may connect. It returns false if the clients
// are closing.
func (c *Clients) waitToConnect() bool {
	if c.connectTicker == nil {
		return c.closing.Err() == nil
	}
	select {
	case <-c.closing.Done():
		return false
	case <-c.connectTicker.C:
		return true
	}
}

// SetDuellists changes the number of duellists to n. It starts new ones, or the newest
// leave when their match is over.
func (c *Clients) SetDuellists(n int) {
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
		if has == n || !c.waitToConnect() {
			return
		}
		c.addDuellist()
	}
}

func (c *Clients) addDuellist() {
	group, quit := context.WithCancel(c.closing)
	c.mu.Lock()
	c.groups = append(c.groups, quit)
	c.mu.Unlock()
	c.tasks.Go(func() {
		defer quit()
		p, err := c.newClient(group, "player")
		if err != nil {
			c.reportEnd(p, err)
			return
		}
		defer p.disconnect()
		for err == nil && group.Err() == nil {
			err = p.play(group, duel())
		}
		c.reportEnd(p, err)
	})
}

// Stop lets every client finish its current match and leave.
func (c *Clients) Stop() { c.close() }

// Wait waits until all clients have left, after Stop or the end of the context.
func (c *Clients) Wait() {
	c.tasks.Wait()
	if c.connectTicker != nil {
		c.connectTicker.Stop()
	}
	c.close()
}

// maxViolations bounds the violations that are kept for one update.
const maxViolations = 20

func (c *Clients) addViolation(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.violations) == maxViolations {
		c.omitted++
		return
	}
	c.violations = append(c.violations, fmt.Sprintf("%s %s: ", time.Now().Format("15:04:05.000"), c.Name)+fmt.Sprintf(format, args...))
}

// TakeUpdate returns what the clients saw since the last call.
func (c *Clients) TakeUpdate() (s Update, err error) {
	slice, err := c.stats.Take()
	c.mu.Lock()
	defer c.mu.Unlock()
	s = Update{
		At: time.Now().UnixMilli(), Connected: c.connected.Load(), Playing: c.playing.Load(), Slice: slice, Digests: c.digests, Violations: c.violations, Omitted: c.omitted,
	}
	c.digests, c.violations, c.omitted = nil, nil, 0
	return s, err
}

// Summarize returns the totals after Wait and Check have returned.
func (c *Clients) Summarize(checked, unsure int) *Summary {
	return &Summary{Reconnects: c.reconnects, Posted: c.posted.Load(), Checked: checked, Unsure: unsure}
}

// server returns the server of the nth client. All servers have equally many.
func (c *Clients) server(n int) string { return c.Servers[n%len(c.Servers)] }

// dialerOf returns the dialer of the nth connection; nil: any local address.
func (c *Clients) dialerOf(n int) *net.Dialer {
	if !c.Sources {
		return nil
	}
	return player.FromAddress((c.First + n) / player.PerAddress)
}

// pause waits. It returns false if the clients close during the wait.
func (c *Clients) pause(d time.Duration) bool {
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-c.closing.Done():
		return false
	case <-wait.C:
		return true
	}
}
