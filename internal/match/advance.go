package match

import (
	"cmp"
	"context"
	"errors"
	"time"

	"laststand/internal/protocol"
)

const (
	// storeRetryDelay is the delay before the engine retries a step after an error
	// of the store.
	retryAfter = 500 * time.Millisecond
	// maxSteps limits the attempts of one call. A few steps at most can follow
	// each other without a wait. The limit is several times higher, because an
	// attempt fails when another node applies the step first.
	maxSteps = 16
)

// errMatchChanging reports that other nodes won every step first.
var errMatchChanging = protocol.RetryAfter(protocol.CodeUnavailable, 100, "the match is changing; retry in 100 ms")

// stepFunc computes a requested step from a view of the match. It returns false if
// the request needs no step, or another step must come first.
type stepFunc func(p *Plan, v View, now int64) (Step, bool)

// Leave forfeits a duel for one of its players. It changes nothing if the match
// is over, already forfeited, or an arena. It returns ErrNotFound if
// the player has no seat.
func (e *Engine) Leave(ctx context.Context, match, player string) error {
	if err := e.CheckSeat(ctx, match, player); err != nil {
		return err
	}
	return e.requestStep(ctx, match, func(p *Plan, v View, now int64) (Step, bool) { return forfeitStep(p, v, player, now) })
}

// requestStep applies the steps that must come first, then the requested step,
// then the steps that become due.
func (e *Engine) requestStep(ctx context.Context, match string, wanted stepFunc) error {
	l, err := e.loadMatch(ctx, match)
	if err != nil {
		return err
	}
	return e.runSteps(ctx, l, View{}, wanted)
}

// advance applies all due steps. It computes the first one from the view. If the
// view is insufficient or outdated, it reads the match.
func (e *Engine) advance(ctx context.Context, l *localMatch, v View) error {
	return e.runSteps(ctx, l, v, nil)
}

// runSteps applies steps until none is due, then sets the timer. An earlier
// timer would apply the following steps a second time.
func (e *Engine) runSteps(ctx context.Context, l *localMatch, v View, wanted stepFunc) error {
	st := stepRun{engine: e, match: l}
	err := cmp.Or(st.run(ctx, v, wanted), st.flush(ctx))
	if st.hasStepped {
		e.armTimer(l)
	}
	return err
}

// chooseStep returns the requested step, or else the step that is due.
func (e *Engine) chooseStep(p *Plan, v View, wanted stepFunc) (s Step, requested, due bool) {
	if wanted != nil {
		if s, requested = wanted(p, v, e.Now()); requested {
			return s, true, true
		}
	}
	s, due = nextStep(p, v, e.Now(), e.storeOutageMS(v))
	return s, false, due
}

// deliver pushes the effect of steps to the sessions at this node. If this node
// has missed earlier pushes, it reads them from the log first.
func (e *Engine) deliver(ctx context.Context, l *localMatch, d delivery) error {
	if l.deliver(d) {
		return nil
	}
	e.metrics.filledGaps.Inc()
	v, err := e.read(ctx, l, l.knownState().Seq)
	if err != nil {
		return e.handleLoss(ctx, l, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.catchUp(v)
	return nil
}

// reportEnd passes the result of a match that this node has ended to OnResult, and
// its arena to OnArenaEnd.
func (e *Engine) reportEnd(ctx context.Context, l *localMatch, s *Step) {
	reason := s.To.EndReason
	if s.Result != nil {
		reason = s.Result.Reason
	}
	e.metrics.ended.WithLabelValues(string(l.plan.Mode), string(reason)).Inc()
	if l.plan.Arena != nil {
		e.OnArenaEnd(l.plan.Arena, l.plan.Game)
	}
	if s.Result == nil {
		return
	}
	if err := CompleteStandings(ctx, e.Store, s.Result); err != nil {
		e.Logger.Warn("standings read failed; settlement retries", "match", l.plan.ID, "error", err)
		return
	}
	e.OnResult(s.Result)
}

// adoptView delivers what other nodes have done to a match, stores the new state,
// and sets the timer for the next deadline.
func (e *Engine) adoptView(l *localMatch, v View) {
	l.mu.Lock()
	l.catchUp(v)
	l.mu.Unlock()
	e.armTimer(l)
	e.scheduleNotices(l)
}

// scheduleNotices reacts to a change of the local state: it schedules the lobby
// notice, the personal results and the lifecycle events.
func (e *Engine) scheduleNotices(l *localMatch) {
	e.scheduleLifecycle(l)
	e.scheduleLobbyNotice(l, false)
	e.schedulePersonal(l)
}

// armTimer sets the timer to the instant at which this node must take the next
// step, and schedules the bots for a new question. A match that is over is kept
// for endedTTLMS and then dropped.
func (e *Engine) armTimer(l *localMatch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state.Phase.hasEnded() {
		e.Wheel.Set(&l.timer, keepMS*time.Millisecond, func() { e.dropLocal(l) })
		return
	}
	e.scheduleBots(l)
	if l.state.DueAt == 0 {
		l.timer.Stop()
		return
	}
	wait := time.Duration(max(l.nextStepAt()-e.Now(), 0)) * time.Millisecond
	e.Wheel.Set(&l.timer, wait, func() { e.advanceDue(l) })
}

// advanceDue advances a match whose deadline has passed. If the store fails, it
// retries after storeRetryDelay.
func (e *Engine) advanceDue(l *localMatch) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	err := e.advance(ctx, l, View{State: l.knownState()})
	if err == nil || errors.Is(err, ErrNotFound) || errors.Is(err, ErrAbandoned) {
		return
	}
	e.Logger.Warn("match step failed; retrying", "match", l.plan.ID, "error", err)
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Wheel.Set(&l.timer, retryAfter, func() { e.advanceDue(l) })
}
