package checker

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// arrival is a question that reached a player.
type arrival struct {
	opened int64     // cluster time, as the question states it
	came   time.Time // by the clock of this machine
	since  time.Time // when the connection that it came by was welcomed
	server string    // the node at its other end
}

// span is a range of time.
type span struct{ from, to time.Time }

func (s span) overlaps(other span) bool { return s.from.Before(other.to) && s.to.After(other.from) }

// outages records when nodes were down or stopped. It is safe for concurrent use; the
// zero value is ready.
type outages struct {
	mu  sync.Mutex
	all []outage
}

type outage struct {
	server string // its address
	span
}

func (o *outages) add(server string, s span) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, outage{server, s})
}

// end returns when the last outage of a node that touched a span ended, if it ended
// before the span did. Without such an outage it returns the zero time.
func (o *outages) end(server string, within span) (end time.Time) {
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

// clock estimates how far cluster time is ahead of this machine's clock. Each welcome
// gives an upper bound, which includes the duration of the hello. So the lowest bound is
// the best. clock is safe for concurrent use.
type clock struct {
	mu    sync.Mutex
	known bool
	lead  int64 // ms
}

func (c *clock) bound(lead int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.known || lead < c.lead {
		c.known, c.lead = true, lead
	}
}

// local converts cluster time to this machine's time.
func (c *clock) local(at int64) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.UnixMilli(at - c.lead)
}

// Delays are how late questions reached players, in ms and sorted, and which part the
// servers caused. That part excludes the time for which a player was disconnected. It
// also excludes the time for which the program had stopped the player's node.
type Delays struct {
	All   []int64 // after the question opened
	There []int64 // of those, to players who were connected to a node that ran

	Away, AwayServer       []int64 // to players who reconnected since; AwayServer counts from the welcome
	Stalled, StalledServer []int64 // from a node that was stopped since; StalledServer counts from its resumption

	Hellos []int64 // durations of hellos to nodes that ran
	Pauses []int64 // how late goroutines of this program ran
}

// add classifies an arrival by the cause of its delay.
func (d *Delays) add(a arrival, o *checker) {
	opened := o.clock.local(a.opened)
	late := a.came.Sub(opened)
	d.All = append(d.All, late.Milliseconds())
	stalled := o.fleet.outages.end(a.server, span{later(opened, a.since), a.came})
	switch {
	case !stalled.IsZero():
		d.Stalled = append(d.Stalled, late.Milliseconds())
		d.StalledServer = append(d.StalledServer, a.came.Sub(stalled).Milliseconds())
	case a.since.After(opened):
		d.Away = append(d.Away, late.Milliseconds())
		d.AwayServer = append(d.AwayServer, a.came.Sub(a.since).Milliseconds())
	default:
		d.There = append(d.There, late.Milliseconds())
	}
}

func (d *Delays) sort() {
	for _, all := range [][]int64{d.All, d.There, d.Away, d.AwayServer, d.Stalled, d.StalledServer, d.Hellos, d.Pauses} {
		slices.Sort(all)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// String formats the part of the report about delays.
func (d Delays) String() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("pushes    %d questions reached players: %s after they opened", len(d.All), spread(d.All))
	line("          %d who were there, at a node that ran: %s (all of it the servers')", len(d.There), spread(d.There))
	line("          %d who were cut off and came back: %s; the servers' part, after the welcome: %s",
		len(d.Away), spread(d.Away), spread(d.AwayServer))
	line("          %d at a node that was stopped: %s; the servers' part, after it went on: %s",
		len(d.Stalled), spread(d.Stalled), spread(d.StalledServer))
	line("hellos    %d of nodes that ran took: %s", len(d.Hellos), spread(d.Hellos))
	line("program   its own goroutines ran late by: %s", spread(d.Pauses))
	return b.String()
}
