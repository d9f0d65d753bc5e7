package eventq

import (
	"context"
	"time"

	"laststand/internal/timer"
)

const (
	pollInterval        = 200 * time.Millisecond // at most, for a partition of this node with games
	minPollPause        = 5 * time.Millisecond   // at least
	pollPausePerGame    = 100 * time.Microsecond // added for each game that was due at the last poll
	maintenanceInterval = time.Minute            // of a game, or longer if a partition has many
	maxUnknownGames     = 1000                   // that are looked for in a partition
)

// runPartition serves a partition until the context ends.
func (s *sender) runPartition(ctx context.Context, p *partition) {
	var maintained time.Time
	for turn := 0; ctx.Err() == nil; {
		pause, wait := minPollPause, maintenanceInterval // until this node owns it
		if s.members.owns(p) {
			pause, wait = s.poll(ctx, p)
			if n := len(p.games); n > 0 && time.Since(maintained) >= maintenanceInterval/time.Duration(n) {
				s.maintain(ctx, p.games[turn%n].Policy)
				turn, maintained = turn+1, time.Now()
			}
		}
		timer.Sleep(ctx, pause)
		select {
		case <-p.pollNow:
		case <-time.After(wait - pause):
		case <-ctx.Done():
		}
	}
}

// poll dispatches the due games of a partition. It returns how long to wait until the
// next poll, at least and at most. It maintains due games that are not configured here any
// more: their items are then due when they are stale, and are dropped.
func (s *sender) poll(ctx context.Context, p *partition) (pause, wait time.Duration) {
	var games []string
	var next int64
	now := s.Now()
	if s.call(ctx, "due", func(ctx context.Context) (err error) {
		games, next, err = s.Queue.Due(ctx, p.index, now, len(p.games)+maxUnknownGames)
		return err
	}) != nil {
		return pollInterval, pollInterval
	}
	for _, name := range games {
		if g := s.games[name]; g == nil {
			s.maintain(ctx, Policy{Game: name, MaxLen: MaxQueueLen, BatchSize: MaxQueueLen, FlushMS: MaxAgeMS + MaxAheadMS, MaxAgeMS: MaxAgeMS})
		} else if g.sink != nil {
			s.dispatch(ctx, g, 1)
		}
	}
	pause = min(minPollPause+time.Duration(len(games))*pollPausePerGame, pollInterval)
	if len(p.games) == 0 {
		return pause, maintenanceInterval
	}
	return pause, max(waitUntil(next, now, pollInterval), pause)
}

func (s *sender) maintain(ctx context.Context, policy Policy) {
	_ = s.call(ctx, "maintain", func(ctx context.Context) error { return s.Queue.Maintain(ctx, policy, s.Now()) })
}

// waitUntil returns the time until an instant, at most the given maximum,
// because clocks jump. An instant of 0 means the maximum.
func waitUntil(at, now int64, most time.Duration) time.Duration {
	if at == 0 || at-now > most.Milliseconds() {
		return most
	}
	return max(time.Duration(at-now)*time.Millisecond, minPollPause)
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
