package playerevents

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"laststand/internal/timer"
)

const (
	// observeInterval is how often the service records which nodes are alive.
	// renewInterval is how often it renews the sessions of this node and looks for
	// those of lost nodes.
	observeInterval = time.Second
	renewInterval   = 5 * time.Second
	// storeTimeout bounds one call of the SessionStore. closeTimeout bounds all
	// calls at the end.
	storeTimeout = 2 * time.Second
	closeTimeout = 3 * time.Second
	// storeRetryDelay is the pause before the service repeats a failed call.
	storeRetryDelay = 500 * time.Millisecond
)

// Run keeps the SessionStore up to date, and reports the end of sessions whose
// nodes are lost. When ctx ends, it ends the remaining sessions of this node. The
// receiver of Offer must run longer than it.
func (s *Service) Run(ctx context.Context) error {
	var loops sync.WaitGroup
	loops.Go(func() { s.runSync(ctx) })
	loops.Go(func() { timer.Every(ctx, observeInterval, s.observeNodes) })
	loops.Go(func() { timer.Every(ctx, renewInterval, s.renewSessions) })
	loops.Go(func() { timer.Every(ctx, renewInterval, s.endDeadNodeSessions) })
	loops.Wait()
	for _, open := range s.openSessions() {
		s.leave(open)
	}
	s.syncRest()
	return nil
}

// runSync writes the changes to the SessionStore until ctx ends.
func (s *Service) runSync(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.queue.wake:
		}
		for s.queue.size() > 0 && ctx.Err() == nil {
			if err := s.syncBatch(ctx); err != nil {
				s.recordError("the visits here could not be noted; trying again", err)
				timer.Sleep(ctx, storeRetryDelay)
			}
		}
	}
}

func (s *Service) syncBatch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	changes := s.queue.peek()
	started, ended := splitChanges(changes)
	if len(started) > 0 {
		if err := s.Sessions.Add(ctx, s.Node, started...); err != nil {
			return err
		}
	}
	if len(ended) > 0 {
		if err := s.Sessions.Remove(ctx, s.Node, ended...); err != nil {
			return err
		}
	}
	s.queue.drop(len(changes))
	return nil
}

// syncRest writes the changes that are left. If it fails, other nodes report the
// end of these sessions again, with the same ids.
func (s *Service) syncRest() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	for s.queue.size() > 0 {
		if err := s.syncBatch(ctx); err != nil {
			s.recordError("ends of visits could not be noted; another node reports them again", err)
			return
		}
	}
}

// renewSessions renews the sessions of this node.
func (s *Service) renewSessions(ctx context.Context) {
	games := s.gamesWithSessions()
	if len(games) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if err := s.Sessions.Renew(ctx, s.Node, games, s.Now()); err != nil {
		s.recordError("it could not be noted that visits go on; it is again soon", err)
	}
}

// gamesWithSessions returns the games with sessions here that the SessionStore
// knows, or will know.
func (s *Service) gamesWithSessions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.games))
}

func (s *Service) openSessions() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.all))
}

func (s *Service) recordError(message string, err error) {
	s.metrics.storeErrors.Inc()
	s.Logger.Warn(message, "error", err)
}
