package eventq

import "context"

// endDeadNodeSessions reports the end of the sessions of dead nodes.
func (p *Players) endDeadNodeSessions(ctx context.Context) error {
	for node, seenAt := range p.members.deadNodes() {
		if err := p.endSessionsOf(ctx, node, seenAt); err != nil {
			return err
		}
	}
	return nil
}

// endSessionsOf reports the end of the sessions of a dead node, as it was last seen. Two
// nodes may do so at once, because they use the same ids. No game is interested in
// sessions that are unreadable.
func (p *Players) endSessionsOf(ctx context.Context, node string, seenAt int64) error {
	for {
		var records []SessionRecord
		err := p.call(ctx, func(ctx context.Context) (err error) {
			records, err = p.Nodes.Sessions(ctx, node, seenAt, syncBatch)
			return err
		})
		if err != nil || len(records) == 0 {
			return err
		}
		for i := range records {
			r := &records[i]
			r.Ended, r.Offline.At = true, max(r.Offline.At, seenAt)
			p.offer(r.Game, r.Offline)
		}
		p.counts.deadNodeSessions.Add(float64(len(records)))
		if err := p.syncSessions(ctx, node, records); err != nil {
			return err
		}
	}
}
