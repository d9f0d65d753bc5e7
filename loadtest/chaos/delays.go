package chaos

import (
	"sync"
	"time"

	"laststand/loadtest/client"
	"laststand/loadtest/stats"
)

// span is a range of time.
type span struct{ from, to time.Time }

func (s span) overlaps(other span) bool { return s.from.Before(other.to) && s.to.After(other.from) }

// outages records when nodes were down or stalled. It is safe for concurrent use; the
// zero value has none.
type outages struct {
	mu  sync.Mutex
	all []outage
}

type outage struct {
	server string // URL
	span
}

// start starts an outage of a node. The caller calls end when it is over.
func (o *outages) start(server string) (end func()) {
	startedAt := time.Now()
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.all = append(o.all, outage{server, span{startedAt, time.Now()}})
	}
}

// lastEnd returns when the last outage of a node that touched a span ended, if it ended
// before the span did. Without such an outage it returns the zero time.
func (o *outages) lastEnd(server string, within span) (end time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, one := range o.all {
		if one.server == server && one.overlaps(within) && !one.to.After(within.to) && one.to.After(end) {
			end = one.to
		}
	}
	return end
}

// count returns how many outages there were in a span, on all nodes together.
func (o *outages) count(within span) (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, one := range o.all {
		if one.overlaps(within) {
			n++
		}
	}
	return n
}

// clock estimates by how many ms cluster time is ahead of this machine's clock. Each
// welcome gives an upper bound, which includes the duration of the hello. So the lowest
// bound is the best. It is safe for concurrent use; the zero value knows no bound.
type clock struct {
	mu      sync.Mutex
	isKnown bool
	leadMS  int64
}

func (c *clock) bound(leadMS int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.isKnown || leadMS < c.leadMS {
		c.isKnown, c.leadMS = true, leadMS
	}
}

// local converts cluster time (ms) to this machine's time.
func (c *clock) local(at int64) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.UnixMilli(at - c.leadMS)
}

// arrival is a question that reached a player.
type arrival struct {
	opensAt   int64     // cluster time (ms)
	came      time.Time // by the clock of this machine
	welcomeAt time.Time // when the connection was welcomed
	server    string    // the node at its other end
}

// delays collects how late questions reached players. It is safe for concurrent use; the
// zero value is empty.
type delays struct {
	clock clock
	mu    sync.Mutex
	all   []arrival
}

func (d *delays) add(h client.Received, opensAt int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, arrival{opensAt, h.ReceivedAt, h.ConnectedAt, h.Server})
}

// Kinds of delays, as the report shows them. The servers' part of a delay starts when
// the player is connected and its node runs.
const (
	allDelays     = "questions that reached players, after they opened"
	thereDelays   = "  connected to a node that ran"
	awayDelays    = "  disconnected meanwhile"
	awayServer    = "    the servers' part, after the welcome"
	stalledDelays = "  at a node that was stalled"
	stalledServer = "    the servers' part, after it resumed"
)

var delayKinds = []string{allDelays, thereDelays, awayDelays, awayServer, stalledDelays, stalledServer}

// classify sums up all delays by their cause.
func (d *delays) classify(o *outages) stats.Sum {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := stats.New(time.Hour)
	for _, a := range d.all {
		openedAt := d.clock.local(a.opensAt)
		late := a.came.Sub(openedAt)
		all.Add(allDelays, late)
		from := openedAt
		if a.welcomeAt.After(openedAt) {
			from = a.welcomeAt
		}
		switch end := o.lastEnd(a.server, span{from, a.came}); {
		case !end.IsZero():
			all.Add(stalledDelays, late)
			all.Add(stalledServer, a.came.Sub(end))
		case from != openedAt:
			all.Add(awayDelays, late)
			all.Add(awayServer, a.came.Sub(from))
		default:
			all.Add(thereDelays, late)
		}
	}
	return all.All()
}
