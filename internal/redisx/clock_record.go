package redisx

import (
	"context"
	"time"
)

const (
	// recordTTL is how long the told time is kept once no node is alive.
	recordTTL = time.Minute
	// recordAge is the age up to which a living node has written it.
	recordAge = 5 * time.Second
	// recordWait is how long a new node waits for a living one to write an older
	// one again: longer than they pause between two readings.
	recordWait = 1500 * time.Millisecond
	// recordAhead bounds how far ahead of the reference a node starts when no
	// living node is.
	recordAhead = time.Minute
)

// record is the cluster time that a node told last, and the time of the
// reference then, both in ns; zero: there is none.
type record struct{ told, at int64 }

// fresh says whether a living node has told it by a time of the reference.
func (r record) fresh(now int64) bool { return r.at > 0 && now >= r.at && now-r.at <= int64(recordAge) }

// now is cluster time at a time of the reference, as the nodes have it that run.
func (r record) now(at int64) int64 {
	since := max(at-r.at, 0)
	if r.told > r.at { // they slow until they have met the reference
		since -= since / slowBy
	}
	return r.told + since
}

// tell tells other nodes the cluster time here at a reading, once there is one,
// and gives what was told last.
func (c *Clock) tell(ctx context.Context, r reading) (last record) {
	if c.keep == nil {
		return last
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	mine := int64(0)
	if known := c.at.Load(); known != nil {
		mine = known.read(r.sent + (r.received-r.sent)/2)
	}
	last, err := c.keep(ctx, mine, r.told)
	if err != nil { // the reading is good all the same
		c.metrics.failed.Inc()
		c.log.DebugContext(ctx, "cluster time record failed", "error", err)
	}
	return last
}

// begin starts from the time that other nodes have, where it is not about that
// of the reference: a new node must not be seconds apart from them.
func (c *Clock) begin(r reading, last record) {
	if last.at == 0 {
		return
	}
	own := last.now(r.told)
	apart := time.Duration(own - r.told)
	if !last.fresh(r.told) && (apart < 0 || apart > recordAhead) {
		return // of nodes that are gone
	}
	if apart.Abs() <= maxUncertainty {
		return
	}
	c.log.Warn("cluster time of other nodes differs from the redis clock; starting from cluster time", "difference", apart)
	theirs := reading{sent: r.sent, received: r.received, told: own}
	c.at.Store(&estimate{line: line{offset: theirs.offset(), from: r.received}, best: theirs, heard: r.received})
}
