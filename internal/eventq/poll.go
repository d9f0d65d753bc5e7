package eventq

import (
	"context"
	"time"
)

const (
	pollInterval     = 200 * time.Millisecond // at the latest, where a partition is this node's
	idlePollInterval = time.Second            // elsewhere
	minPollPause     = 5 * time.Millisecond   // at the least
	pollPausePerGame = 100 * time.Microsecond // more, for each game that was due the last time
	reapInterval     = 5 * time.Second
	pollGames        = 128 // besides as many as there were the last time
)

// tend looks after a partition until the context ends: it finds the games that
// are due, and renews and retries the batches that wait.
func (s *Service) runPartition(ctx context.Context, p *partition) {
	var reaped time.Time
	for ctx.Err() == nil {
		wait := s.pollWaiting(ctx, p)
		if s.owns(p) {
			if len(p.games) > 0 {
				wait = min(wait, s.poll(ctx, p))
			}
			if time.Since(reaped) >= reapInterval {
				s.reap(ctx, p)
				reaped = time.Now()
			}
		}
		s.waitForPoll(ctx, p, wait)
	}
}

// await waits until it is time to look at a partition again, or until a nudge,
// though not for too short. Games that have a full batch are taken from meanwhile.
func (s *Service) waitForPoll(ctx context.Context, p *partition, wait time.Duration) {
	shortest := min(minPollPause+time.Duration(p.lastDue)*pollPausePerGame, pollInterval)
	earliest, latest := time.NewTimer(shortest), time.NewTimer(max(wait, shortest))
	defer earliest.Stop()
	defer latest.Stop()
	var pollNow <-chan struct{} // not before the earliest
	for {
		select {
		case g := <-p.fullGames:
			if s.owns(p) && g.sink != nil {
				s.dispatch(ctx, g)
			}
		case <-earliest.C:
			pollNow = p.pollNow
		case <-pollNow:
			return
		case <-latest.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// poll has the due games of a partition taken from, and says when to look again.
func (s *Service) poll(ctx context.Context, p *partition) time.Duration {
	calling, cancel := callContext(ctx)
	defer cancel()
	now := s.Now()
	limit := pollGames + p.lastDue // so that those in hand hide no others
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

// until is how long it is to an instant, where there is one, and never longer
// than most: clocks jump.
func waitUntil(at, now int64, most time.Duration) time.Duration {
	if at == 0 || at-now > most.Milliseconds() {
		return most
	}
	return max(time.Duration(at-now)*time.Millisecond, minPollPause)
}

func (s *Service) reap(ctx context.Context, p *partition) {
	ctx, cancel := callContext(ctx)
	defer cancel()
	lost, err := s.Queue.Reap(ctx, p.index, s.Now())
	s.recordError("reap", err)
	if lost > 0 {
		s.Logger.Warn("behaviours were lost with the node that had taken them", "partition", p.index, "behaviours", lost)
	}
}

// announce follows a push: who waits for a batch of the game looks now.
func (s *Service) notifyPushed(g *game, pushed PushResult) {
	g.reporter.setLength(pushed.Length)
	first := pushed.Length > 0 && pushed.Length == pushed.Queued
	if pushed.Length < g.BatchSize && (!first || g.FlushMS >= pollInterval.Milliseconds()) {
		return
	}
	if g.reporter.wakeDedicated() || !s.owns(g.partition) {
		return
	}
	if pushed.Length >= g.BatchSize {
		select {
		case g.partition.fullGames <- g:
			return
		default: // the loop has enough to look at
		}
	}
	signal(g.partition.pollNow)
}
