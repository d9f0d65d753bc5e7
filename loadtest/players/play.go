package players

import (
	"time"

	"laststand/internal/protocol"
)

// play enters a match and plays it to its end.
func (p *player) play(r *matchRun) (err error) {
	r.player, r.since = p, time.Now()
	r.kind, r.data = protocol.TypeDuelJoin, newDuelJoin()
	if r.seat != nil {
		r.kind, r.data = protocol.TypeArenaJoin, protocol.ArenaJoin{Code: r.seat.arena.made.Code, Team: r.seat.team}
	}
	defer r.end()
	r.Ask(r.kind, r.data)
	for !r.isDone() {
		r.sendDue(time.Now())
		h, err := r.Next(r.readContext(), r.nextDue())
		if err == nil {
			err = r.receive(h)
		}
		if err == nil {
			err = r.checkSilence()
		}
		if err != nil {
			return err
		}
		if r.isRefused || r.hasMatch {
			r.decide()
		}
	}
	if r.hasMatch {
		r.view.Finish()
		p.group.Stats.Count("matches "+r.mode(), 1)
	}
	return nil
}

// sendDue sends the requests that are due.
func (r *matchRun) sendDue(now time.Time) {
	r.sendAnswer(now)
	if r.hasMatch {
		return
	}
	if r.retry != nil && now.After(r.retryAt) {
		q := r.retry
		r.retry, r.retryAt = nil, time.Time{}
		r.Ask(q.Kind, q.Data)
	}
	if !r.mustLeave() || r.isLeaving || r.isRefused {
		return
	}
	switch {
	case r.hasEntered, r.retry != nil: // a refused player may have a ticket nevertheless
		r.isLeaving, r.retry, r.retryAt = true, nil, time.Time{}
		r.Ask(protocol.TypeDuelLeave, protocol.Empty{})
	case !r.IsAwaitingReply(r.kind):
		r.isRefused = true
	}
}
