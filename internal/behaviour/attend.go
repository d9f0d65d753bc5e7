package behaviour

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
func (v *Visits) Run(ctx context.Context) error {
	var loops sync.WaitGroup
	loops.Go(func() { v.write(ctx) })
	loops.Go(func() { atIntervals(ctx, watchEvery, v.watch) })
	loops.Go(func() { atIntervals(ctx, attendEvery, v.goOn) })
	loops.Go(func() { atIntervals(ctx, attendEvery, v.endOrphans) })
	loops.Wait()
	for _, one := range v.left() {
		v.leave(one)
	}
	v.close()
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
func (v *Visits) write(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-v.roll.news:
		}
		for v.roll.waiting() > 0 && ctx.Err() == nil {
			if err := v.writeBatch(ctx); err != nil {
				v.failed("the visits here could not be noted; trying again", err)
				waitAgain(ctx)
			}
		}
	}
}

func (v *Visits) writeBatch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, attendWithin)
	defer cancel()
	changes := v.roll.head()
	come, over := sides(changes)
	if len(come) > 0 {
		if err := v.Attendance.Enter(ctx, v.Node, come...); err != nil {
			return err
		}
	}
	if len(over) > 0 {
		if err := v.Attendance.Exit(ctx, v.Node, over...); err != nil {
			return err
		}
	}
	v.roll.drop(len(changes))
	return nil
}

// close writes what is left of the roll. What it cannot write others find, and
// report again by the same ids.
func (v *Visits) close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	for v.roll.waiting() > 0 {
		if err := v.writeBatch(ctx); err != nil {
			v.failed("ends of visits could not be noted; another node reports them again", err)
			return
		}
	}
}

// goOn says that the visits here go on.
func (v *Visits) goOn(ctx context.Context) {
	games := v.listed()
	if len(games) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, attendWithin)
	defer cancel()
	if err := v.Attendance.Seen(ctx, v.Node, games, v.Now()); err != nil {
		v.failed("it could not be noted that visits go on; it is again soon", err)
	}
}

// listed are the games with visits here that Attendance knows, or is to.
func (v *Visits) listed() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Collect(maps.Keys(v.games))
}

func (v *Visits) left() []*stay {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Collect(maps.Keys(v.all))
}

func (v *Visits) failed(what string, err error) {
	v.metrics.failed.Inc()
	v.Logger.Warn(what, "error", err)
}

func waitAgain(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(attendAgain):
	}
}
