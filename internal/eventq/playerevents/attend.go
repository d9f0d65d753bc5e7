package playerevents

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// watchEvery is how often it is noted who lives, attendEvery how often the
	// visits here are said to go on and those of lost nodes looked for.
	watchEvery  = time.Second
	attendEvery = 5 * time.Second
	// attendWithin bounds a call of Attendance, closeWithin all of them at the end.
	attendWithin = 2 * time.Second
	closeWithin  = 3 * time.Second
	// attendAgain is how soon a call that failed is tried again.
	attendAgain = 500 * time.Millisecond
)

// Run keeps Attendance up to date, and reports the end of visits whose nodes
// are lost. When ctx ends it ends the visits that are left here: those who take
// what is offered have to outlive it.
func (s *Service) Run(ctx context.Context) error {
	var loops sync.WaitGroup
	loops.Go(func() { s.write(ctx) })
	loops.Go(func() { atIntervals(ctx, watchEvery, s.watch) })
	loops.Go(func() { atIntervals(ctx, attendEvery, s.goOn) })
	loops.Go(func() { atIntervals(ctx, attendEvery, s.endOrphans) })
	loops.Wait()
	for _, one := range s.left() {
		s.leave(one)
	}
	s.close()
	return nil
}

func atIntervals(ctx context.Context, every time.Duration, f func(context.Context)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			f(ctx)
		}
	}
}

// write has Attendance follow the roll until ctx ends.
func (s *Service) write(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.roll.news:
		}
		for s.roll.waiting() > 0 && ctx.Err() == nil {
			if err := s.writeBatch(ctx); err != nil {
				s.failed("the visits here could not be noted; trying again", err)
				waitAgain(ctx)
			}
		}
	}
}

func (s *Service) writeBatch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, attendWithin)
	defer cancel()
	changes := s.roll.head()
	come, over := sides(changes)
	if len(come) > 0 {
		if err := s.Attendance.Enter(ctx, s.Node, come...); err != nil {
			return err
		}
	}
	if len(over) > 0 {
		if err := s.Attendance.Exit(ctx, s.Node, over...); err != nil {
			return err
		}
	}
	s.roll.drop(len(changes))
	return nil
}

// close writes what is left of the roll. What it cannot write others find, and
// report again by the same ids.
func (s *Service) close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	for s.roll.waiting() > 0 {
		if err := s.writeBatch(ctx); err != nil {
			s.failed("ends of visits could not be noted; another node reports them again", err)
			return
		}
	}
}

// goOn says that the visits here go on.
func (s *Service) goOn(ctx context.Context) {
	games := s.listed()
	if len(games) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, attendWithin)
	defer cancel()
	if err := s.Attendance.Seen(ctx, s.Node, games, s.Now()); err != nil {
		s.failed("it could not be noted that visits go on; it is again soon", err)
	}
}

// listed are the games with visits here that Attendance knows, or is to.
func (s *Service) listed() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.games))
}

func (s *Service) left() []*stay {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.all))
}

func (s *Service) failed(what string, err error) {
	s.metrics.failed.Inc()
	s.Logger.Warn(what, "error", err)
}

func waitAgain(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(attendAgain):
	}
}
