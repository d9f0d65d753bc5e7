package match

import (
	"context"
	"errors"
	"time"

	"laststand/internal/protocol"
)

// retryAfter is how soon a step is tried again that the store failed.
const retryAfter = 500 * time.Millisecond

// maxSteps bounds how many steps one call takes.
const maxSteps = 8

// Leave forfeits a match for one of its players. A match that is over, or has
// been left before, is left as it is; ErrNotFound where the player has no
// seat in it.
func (e *Engine) Leave(ctx context.Context, match, player string) error {
	l, err := e.sits(ctx, match, player)
	if err != nil {
		return err
	}
	for range maxSteps {
		v, err := e.read(ctx, l, l.known().Seq)
		if err != nil {
			return err
		}
		s, due := leave(l.plan, v, player, e.Now())
		if !due {
			if v.Phase.ended() {
				return nil
			}
			if s, due = next(l.plan, v, e.Now()); !due {
				return nil
			}
		}
		if _, err := e.take(ctx, l, s); err != nil {
			return err
		}
	}
	return nil
}

// advance takes all steps of a match that are due, beginning with what a view
// says; where that is not enough, or out of date so that the step is lost, the
// match is read.
func (e *Engine) advance(ctx context.Context, l *live, v View) (err error) {
	for range maxSteps {
		if !v.enough(l.plan) {
			if v, err = e.read(ctx, l, l.known().Seq); err != nil {
				return err
			}
		}
		s, due := next(l.plan, v, e.Now())
		if !due {
			e.follow(l, v)
			return nil
		}
		taken, err := e.take(ctx, l, s)
		if err != nil || taken && !s.To.due(e.Now()) {
			return err
		}
		v = View{}
		if taken {
			v.State = s.To
		}
	}
	return nil
}

// take tries a step and, where this node has won it, pushes what it caused.
// Where that fails the state known here stays behind, and recovery pushes it.
func (e *Engine) take(ctx context.Context, l *live, s Step) (taken bool, err error) {
	s.ID = newID()
	done, err := e.Store.Step(ctx, s)
	if err != nil {
		e.metrics.steps.WithLabelValues(string(s.To.Phase), "failed").Inc()
		return false, err
	}
	if !done.Taken {
		e.metrics.steps.WithLabelValues(string(s.To.Phase), "lost").Inc()
		return false, nil
	}
	e.metrics.steps.WithLabelValues(string(s.To.Phase), "taken").Inc()
	if err = e.deliver(ctx, l, encode(s.Pushes, done.First)); err == nil {
		l.reach(s.To)
	}
	e.arm(l)
	if s.Result != nil {
		e.metrics.over.WithLabelValues(string(s.Result.Mode), string(s.Result.Reason)).Inc()
		e.Over(s.Result)
	}
	return true, err
}

// follow takes over what other nodes have done to a match, and waits for its
// next deadline.
func (e *Engine) follow(l *live, v View) {
	l.mu.Lock()
	l.catchUp(v)
	l.mu.Unlock()
	e.arm(l)
}

// arm waits for the deadline of the newest state known here, and sets the bots
// on a question that is new here. A match that is over is kept while its
// players may still ask for it, then let go.
func (e *Engine) arm(l *live) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state.Phase.ended() {
		l.rearm(e.Wheel.After(keepMS*time.Millisecond, func() { e.drop(l) }))
		return
	}
	e.playBots(l)
	wait := time.Duration(max(l.state.DueAt-e.Now(), 0)) * time.Millisecond
	l.rearm(e.Wheel.After(wait, func() { e.due(l) }))
}

// due advances a match whose deadline has passed; where the store fails it
// tries again soon.
func (e *Engine) due(l *live) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	err := e.advance(ctx, l, View{State: l.known()})
	switch {
	case errors.Is(err, ErrNotFound):
		e.drop(l)
	case err != nil:
		e.Logger.Warn("a match could not be advanced; trying again", "match", l.plan.ID, "error", err)
		l.mu.Lock()
		l.rearm(e.Wheel.After(retryAfter, func() { e.due(l) }))
		l.mu.Unlock()
	}
}

// deliver pushes frames of a match to its sessions here. What this node has
// missed before them is read from the log first.
func (e *Engine) deliver(ctx context.Context, l *live, f frames) error {
	if len(f.bytes) == 0 {
		return nil
	}
	gap, err := l.deliver(ctx, f, func(ctx context.Context, after int64) (View, error) {
		return e.read(ctx, l, after)
	})
	if gap {
		e.metrics.gaps.Inc()
	}
	return err
}

func encode(pushes []protocol.Numbered, first int64) frames {
	f := frames{first: first}
	for i, p := range pushes {
		f.bytes = append(f.bytes, p.Frame(first+int64(i)))
	}
	return f
}
