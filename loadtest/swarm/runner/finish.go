package runner

import (
	"context"
	"errors"
	"time"

	player "laststand/loadtest/client"
	"laststand/loadtest/swarm/clients"
	"laststand/loadtest/swarm/rules"
)

// finishWithin bounds the time in which clients finish their matches and check the result.
const finishWithin = 10 * time.Minute

// finish waits until the clients have finished and checked their matches. If one process is
// lost, the others still finish. The checks that need all processes are then left out.
func (d *runner) finish(ctx context.Context) error {
	var lost []error
	for _, l := range d.workers {
		lost = append(lost, l.send(clients.Command{Stop: true}))
	}
	ctx, cancel := context.WithTimeout(ctx, finishWithin)
	defer cancel()
	for _, l := range d.workers {
		lost = append(lost, l.wait(ctx))
	}
	if err := errors.Join(lost...); err != nil {
		return err
	}
	return d.checkAll(ctx)
}

// awaitLastUpdates waits until the remaining client processes have sent another update or
// have ended. They send one per second.
func (d *runner) awaitLastUpdates(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*updateEvery)
	defer cancel()
	for _, l := range d.workers {
		_ = l.wait(ctx) // the reason for the end is known
	}
}

// checkAll makes the checks that need the data of all client processes.
func (d *runner) checkAll(ctx context.Context) error {
	if len(d.Attach) == 0 {
		for _, open := range d.matches.Open() {
			d.addViolation("%s", open)
		}
	}
	if d.Behaviours == 0 {
		return nil
	}
	var posted int64
	for _, l := range d.workers {
		posted += l.done.Posted
	}
	for until := time.Now().Add(30 * time.Second); ; {
		f, err := d.environment.flow(ctx)
		differs := rules.CheckBehaviours(posted, f)
		if err != nil {
			differs = err.Error()
		}
		if differs == "" {
			d.logMark("behaviours: %d posted; %+v", posted, f)
			return nil
		}
		if time.Now().After(until) {
			d.addViolation("%s", differs)
			return nil
		}
		if err := d.pauseOnly(ctx, time.Second); err != nil {
			return err
		}
	}
}

// pauseOnly waits, even if a client process ends.
func (d *runner) pauseOnly(ctx context.Context, span time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(span):
		return nil
	}
}

// totals returns the totals of all players.
func (d *runner) totals() (all player.Reconnects, checked, unsure int) {
	for _, l := range d.workers {
		if done := l.summary(); done != nil {
			all.Add(done.Reconnects)
			checked += done.Checked
			unsure += done.Unsure
		}
	}
	return all, checked, unsure
}
