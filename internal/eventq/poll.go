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
)

// runPartition serves a partition until the context ends.
func (s *sender) runPartition(ctx context.Context, p *partition) {
	var reaped time.Time
	for ctx.Err() == nil {
		shortest, longest := minPollPause, idlePollInterval
		if s.members.owns(p) {
			if len(p.games) > 0 {
				due, wait := s.poll(ctx, p)
				shortest = min(minPollPause+time.Duration(due)*pollPausePerGame, pollInterval)
				longest = max(wait, shortest)
			}
			if time.Since(reaped) >= reapInterval {
				s.reap(ctx, p)
				reaped = time.Now()
			}
		}
		timer.Sleep(ctx, shortest)
		latest := time.NewTimer(longest - shortest)
		select {
		case <-p.pollNow:
		case <-latest.C:
		case <-ctx.Done():
		}
		latest.Stop()
	}
}

// poll dispatches the due games of a partition, and returns their number and when to
// poll again.
func (s *sender) poll(ctx context.Context, p *partition) (due int, wait time.Duration) {
	calling, cancel := callContext(ctx)
	defer cancel()
	now := s.Now()
	games, next, err := s.Queue.Due(calling, p.index, now, len(p.games)+maxUnknownGames)
	s.recordError("due", err)
	if err != nil {
		return 0, pollInterval
	}
	for _, name := range games {
		if g := s.games[name]; g != nil && g.sink != nil {
			s.dispatch(ctx, g, 1)
		}
	}
	return len(games), waitUntil(next, now, pollInterval)
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
