package drill

import (
	"context"
	"time"

	"laststand/loadtest/player"
	"laststand/loadtest/swarm/crowd"
	"laststand/loadtest/swarm/truth"
)

// finishWithin bounds how long what has begun takes to its end, and to be checked.
const finishWithin = 10 * time.Minute

// finish has all that was begun played to its end, and checked.
func (d *drill) finish(ctx context.Context) error {
	for _, l := range d.crowds {
		if err := l.tell(crowd.Command{Stop: true}); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, finishWithin)
	defer cancel()
	for _, l := range d.crowds {
		if err := l.wait(ctx); err != nil {
			return err
		}
	}
	return d.judge(ctx)
}

// judge checks what only all crowds together know.
func (d *drill) judge(ctx context.Context) error {
	if len(d.Attach) == 0 {
		for _, open := range d.matches.Open() {
			d.say("%s", open)
		}
	}
	if d.Behaviours == 0 {
		return nil
	}
	var posted int64
	for _, l := range d.crowds {
		posted += l.done.Posted
	}
	for until := time.Now().Add(30 * time.Second); ; {
		f, err := d.stage.flow(ctx)
		differs := truth.Behaviours(posted, f)
		if err != nil {
			differs = err.Error()
		}
		if differs == "" {
			d.note("behaviours: %d posted; %+v", posted, f)
			return nil
		}
		if time.Now().After(until) {
			d.say("%s", differs)
			return nil
		}
		if err := d.pauseOnly(ctx, time.Second); err != nil {
			return err
		}
	}
}

// pauseOnly waits, whatever becomes of the crowds.
func (d *drill) pauseOnly(ctx context.Context, span time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(span):
		return nil
	}
}

// travels are those of all players.
func (d *drill) travels() (all player.Travels, checked, unsure int) {
	for _, l := range d.crowds {
		all.Add(l.done.Travels)
		checked += l.done.Checked
		unsure += l.done.Unsure
	}
	return all, checked, unsure
}
