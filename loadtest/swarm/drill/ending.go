package drill

import (
	"context"
	"errors"
	"time"

	"laststand/loadtest/player"
	"laststand/loadtest/swarm/crowd"
	"laststand/loadtest/swarm/truth"
)

// finishWithin bounds how long what has begun takes to its end, and to be checked.
const finishWithin = 10 * time.Minute

// finish has all that was begun played to its end, and checked. Where a crowd is lost
// the others go on to theirs; what only all together know is then not judged.
func (d *drill) finish(ctx context.Context) error {
	var lost []error
	for _, l := range d.crowds {
		lost = append(lost, l.tell(crowd.Command{Stop: true}))
	}
	ctx, cancel := context.WithTimeout(ctx, finishWithin)
	defer cancel()
	for _, l := range d.crowds {
		lost = append(lost, l.wait(ctx))
	}
	if err := errors.Join(lost...); err != nil {
		return err
	}
	return d.judge(ctx)
}

// hearOut waits until the crowds that are left have said what they have seen so far,
// which they do once a second, or have ended.
func (d *drill) hearOut(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*saidEvery)
	defer cancel()
	for _, l := range d.crowds {
		_ = l.wait(ctx) // why it has ended is known
	}
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
		if done := l.told(); done != nil {
			all.Add(done.Travels)
			checked += done.Checked
			unsure += done.Unsure
		}
	}
	return all, checked, unsure
}
