package leaderboard

import (
	"context"
	"sync/atomic"
)

// turnstile lets one caller at a time do a job that is never done for less
// than everyone who asked before it began: those find it done when their turn
// comes. So of many at once two work, and nobody depends on another's context.
type turnstile struct {
	asked atomic.Int64
	turn  chan int64 // holds, between turns, up to which ask the job is done
}

func newTurnstile() *turnstile {
	t := &turnstile{turn: make(chan int64, 1)}
	t.turn <- 0
	return t
}

// do returns nil once a job that began after the call has succeeded, the
// caller's own job's error, or the context's if its turn did not come.
func (t *turnstile) do(ctx context.Context, job func() error) error {
	ask := t.asked.Add(1)
	var done int64
	select {
	case done = <-t.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { t.turn <- done }()
	if done >= ask {
		return nil
	}
	covered := t.asked.Load()
	err := job()
	if err == nil {
		done = covered
	}
	return err
}

// door lets one at a time in.
type door chan struct{}

func newDoor() door { return make(door, 1) }

// enter waits for its turn, or until ctx ends. Who is in leaves.
func (d door) enter(ctx context.Context) error {
	select {
	case d <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (d door) leave() { <-d }
