package eventq

import (
	"context"
	"time"
)

const (
	// renewInterval is how often the service renews the sessions of this node and
	// looks for those of dead nodes.
	renewInterval = 2 * time.Second
	// deadAfterMS is how long a node must not be renewed before its sessions are
	// ended.
	deadAfterMS = 10_000
)

// renewSessions tells the store that this node is alive. The first live node also looks
// for the sessions of dead nodes.
func (p *Players) renewSessions(ctx context.Context) error {
	err := p.call(ctx, func(ctx context.Context) error { return p.sessions.Sync(ctx, p.Node, nil, p.Now()) })
	alive := p.alive()
	for more := len(alive) > 0 && alive[0] == p.Node; more && err == nil && ctx.Err() == nil; {
		err = p.call(ctx, func(ctx context.Context) (err error) {
			more, err = p.endDeadNodeSessions(ctx)
			return err
		})
	}
	if err == nil {
		p.contact.observe(p.Now())
	}
	return err
}

// endDeadNodeSessions reports the end of some sessions of a dead node, and whether
// there may be more. Two nodes may do so at once, because they use the same ids. It
// reports none before this node has reached the store for so long that live nodes have
// been renewed.
func (p *Players) endDeadNodeSessions(ctx context.Context) (more bool, err error) {
	records, node, err := p.sessions.DeadNodeSessions(ctx, p.Now(), deadAfterMS, syncBatch)
	if err != nil || len(records) == 0 || !p.contact.lasts(p.Now(), deadAfterMS) {
		return false, err
	}
	for i := range records {
		p.offer(records[i].Game, records[i].Offline)
		records[i].Ended = true
	}
	p.counts.deadNodeSessions.Add(float64(len(records)))
	return true, p.sessions.Sync(ctx, node, records, 0)
}
