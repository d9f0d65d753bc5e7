package match

import (
	"context"
	"sync"

	"golang.org/x/sync/singleflight"
)

const (
	// maxDirectReadFrames is the longest gap that a session's own read fills. Longer
	// gaps are filled from the copy of the log that all local sessions share.
	maxDirectReadFrames = 8
	// maxLogCopies limits the copies of a node. Above it all copies are dropped; they
	// are read again when needed. The largest possible log has about 1 MB.
	maxLogCopies = 64
)

// logCopies are this node's copies of the logs of matches. A client may request a complete
// match again and again, and the store returns the log only once.
type logCopies struct {
	*registry
	reads singleflight.Group

	mu   sync.Mutex
	logs map[string][][]byte // by match: all pushes from number 1 on
}

func (c *logCopies) find(match string) [][]byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.logs[match]
}

// framesAfter returns the frames after a number up to the last one delivered here. It
// returns none if they are few or unavailable; the caller's own read then returns them.
func (c *logCopies) framesAfter(ctx context.Context, local *localMatch, after int64) [][]byte {
	local.mu.Lock()
	lastSeq, abandoned := local.state.Seq, local.state.isAbandoned()
	local.mu.Unlock()
	if abandoned || after < 0 || lastSeq-after <= maxDirectReadFrames {
		return nil
	}
	log := c.find(local.plan.ID)
	if int64(len(log)) < lastSeq {
		extended, _, _ := c.reads.Do(local.plan.ID, func() (any, error) { return c.extend(ctx, local), nil })
		if log = extended.([][]byte); int64(len(log)) < lastSeq {
			return nil
		}
	}
	return log[after:lastSeq:lastSeq]
}

// extend adds to a copy the frames that it lacks. It returns nil if the store does not have
// them.
func (c *logCopies) extend(ctx context.Context, local *localMatch) [][]byte {
	log := c.find(local.plan.ID)
	view, err := c.Matches.Read(ctx, ReadQuery{Match: local.plan.ID, AfterSeq: int64(len(log)), Seen: local.knownSeen()})
	if err != nil || view.Seq-int64(len(view.Frames)) != int64(len(log)) {
		return nil
	}
	log = append(log, view.Frames...)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.logs) >= maxLogCopies || c.logs == nil {
		c.logs = make(map[string][][]byte)
	}
	c.logs[local.plan.ID] = log
	return log
}
