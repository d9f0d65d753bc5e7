package eventq

import (
	"context"
	"time"
)

const (
	pollEvery = 200 * time.Millisecond // at the latest, where a partition is this node's
	idleEvery = time.Second            // elsewhere
	pollPause = 5 * time.Millisecond   // at the least
	pollEach  = 100 * time.Microsecond // more, for each game that was due the last time
	reapEvery = 5 * time.Second
	pollGames = 128 // besides as many as there were the last time
)

// tend looks after a partition until the context ends: it finds the games that
// are due, and renews and retries the batches that wait.
func (s *Service) tend(ctx context.Context, p *partition) {
	var reaped time.Time
	for ctx.Err() == nil {
		wait := s.tendWaiting(ctx, p)
		if s.owns(p) {
			if len(p.games) > 0 {
				wait = min(wait, s.poll(ctx, p))
			}
			if time.Since(reaped) >= reapEvery {
				s.reap(ctx, p)
				reaped = time.Now()
			}
		}
		s.await(ctx, p, wait)
	}
}

// await waits until it is time to look at a partition again, or until a nudge,
// though not for too short. Games that have a full batch are taken from meanwhile.
func (s *Service) await(ctx context.Context, p *partition, wait time.Duration) {
	breath := min(pollPause+time.Duration(p.seen)*pollEach, pollEvery)
	earliest, latest := time.NewTimer(breath), time.NewTimer(max(wait, breath))
	defer earliest.Stop()
	defer latest.Stop()
	var nudge <-chan struct{} // not before the earliest
	for {
		select {
		case g := <-p.filled:
			if s.owns(p) && g.sink != nil {
				s.dispatch(ctx, g)
			}
		case <-earliest.C:
			nudge = p.nudge
		case <-nudge:
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
	calling, cancel := call(ctx)
	defer cancel()
	now := s.Now()
	limit := pollGames + p.seen // so that those in hand hide no others
	due, next, err := s.Queue.Due(calling, p.index, now, limit)
	s.note("due", err)
	if err != nil {
		return pollEvery
	}
	p.seen = len(due)
	for _, name := range due {
		if g := s.games[name]; g != nil && g.sink != nil {
			s.dispatch(ctx, g)
		}
	}
	if len(due) == limit {
		return pollPause
	}
	return until(next, now, pollEvery)
}

// until is how long it is to an instant, where there is one, and never longer
// than most: clocks jump.
func until(at, now int64, most time.Duration) time.Duration {
	if at == 0 || at-now > most.Milliseconds() {
		return most
	}
	return max(time.Duration(at-now)*time.Millisecond, pollPause)
}

func (s *Service) reap(ctx context.Context, p *partition) {
	ctx, cancel := call(ctx)
	defer cancel()
	lost, err := s.Queue.Reap(ctx, p.index, s.Now())
	s.note("reap", err)
	if lost > 0 {
		s.Logger.Warn("behaviours were lost with the node that had taken them", "partition", p.index, "behaviours", lost)
	}
}

// announce follows a push: who waits for a batch of the game looks now.
func (s *Service) announce(g *game, pushed Pushed) {
	g.course.see(pushed.Length)
	first := pushed.Length > 0 && pushed.Length == pushed.Queued
	if pushed.Length < g.BatchSize && (!first || g.FlushMS >= pollEvery.Milliseconds()) {
		return
	}
	if g.course.wakeOwn() || !s.owns(g.partition) {
		return
	}
	if pushed.Length >= g.BatchSize {
		select {
		case g.partition.filled <- g:
			return
		default: // the loop has enough to look at
		}
	}
	signal(g.partition.nudge)
}
