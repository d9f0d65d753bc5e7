package eventq

import (
	"context"
	"time"

	"laststand/internal/timer"
)

const (
	pollInterval     = 200 * time.Millisecond // at most, for a partition of this node
	idlePollInterval = time.Second            // at most, for other partitions
	minPollPause     = 5 * time.Millisecond   // at least
	pollPausePerGame = 100 * time.Microsecond // added for each game that was due at the last poll
	reapInterval     = 5 * time.Second
	pollGames        = 128 // plus as many as were due at the last poll
)

// runPartition serves a partition until the context ends.
func (s *sender) runPartition(ctx context.Context, p *partition) {
	var reaped time.Time
	for ctx.Err() == nil {
		wait := idlePollInterval
		if s.members.owns(p) {
			if len(p.games) > 0 {
				wait = min(wait, s.poll(ctx, p))
			}
			if time.Since(reaped) >= reapInterval {
				s.reap(ctx, p)
				reaped = time.Now()
			}
		}
		p.waitForPoll(ctx, wait)
	}
}

// waitForPoll waits until the next poll, or until a signal, but at least for a
// minimum time.
func (p *partition) waitForPoll(ctx context.Context, wait time.Duration) {
	shortest := min(minPollPause+time.Duration(p.lastDue)*pollPausePerGame, pollInterval)
	timer.Sleep(ctx, shortest)
	latest := time.NewTimer(wait - shortest)
	defer latest.Stop()
	select {
	case <-p.pollNow:
	case <-latest.C:
	case <-ctx.Done():
	}
}

// poll dispatches the due games of a partition, and returns when to poll again.
func (s *sender) poll(ctx context.Context, p *partition) time.Duration {
	calling, cancel := callContext(ctx)
	defer cancel()
	now := s.Now()
	limit := pollGames + p.lastDue // so that games in hand hide no others
	due, next, err := s.Queue.Due(calling, p.index, now, limit)
	s.recordError("due", err)
	if err != nil {
		return pollInterval
	}
	p.lastDue = len(due)
	for _, name := range due {
		if g := s.games[name]; g != nil && g.sink != nil {
			s.dispatch(ctx, g)
		}
	}
	if len(due) == limit {
		return minPollPause
	}
	return waitUntil(next, now, pollInterval)
}

// waitUntil returns the time until an instant, at most the given maximum,
// because clocks jump. An instant of 0 means the maximum.
func waitUntil(at, now int64, most time.Duration) time.Duration {
	if at == 0 || at-now > most.Milliseconds() {
		return most
	}
	return max(time.Duration(at-now)*time.Millisecond, minPollPause)
}

func (s *sender) reap(ctx context.Context, p *partition) {
	ctx, cancel := callContext(ctx)
	defer cancel()
	lost, err := s.Queue.Reap(ctx, p.index, s.Now())
	s.recordError("reap", err)
	if lost > 0 {
		s.Logger.Warn("behaviours were lost with the node that had taken them", "partition", p.index, "behaviours", lost)
	}
}

// pushed makes the loop of a game's partition poll after a push, if a batch is
// due.
func (s *sender) pushed(g *game, pushed PushResult) {
	isFirst := pushed.Length > 0 && pushed.Length == pushed.Queued
	isDueSoon := pushed.Length >= g.BatchSize || isFirst && g.FlushMS < pollInterval.Milliseconds()
	if isDueSoon && s.members.owns(g.partition) {
		timer.Wake(g.partition.pollNow)
	}
}
