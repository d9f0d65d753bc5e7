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
	storeRetryDelay = 500 * time.Millisecond
	// maxStepAttempts limits the attempts of one call. A few steps at most can follow
	// each other without a wait. The limit is several times higher, because an
	// attempt fails when another node applies the step first.
	maxStepAttempts = 16
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
	return e.requestStep(ctx, match, func(plan *Plan, view View, now int64) (Step, bool) { return forfeitStep(plan, view, player, now) })
}

// requestStep applies the steps that must come first, then the requested step,
// then the steps that become due.
func (e *Engine) requestStep(ctx context.Context, match string, requestedStep stepFunc) error {
	local, err := e.loadMatch(ctx, match)
	if err != nil {
		return err
	}
	return e.runSteps(ctx, local, View{}, requestedStep)
}

// advance applies all due steps. It computes the first one from the view. If the
// view is insufficient or outdated, it reads the match.
func (e *Engine) advance(ctx context.Context, local *localMatch, view View) error {
	return e.runSteps(ctx, local, view, nil)
}

// runSteps applies steps until none is due, then sets the timer. An earlier
// timer would apply the following steps a second time.
func (e *Engine) runSteps(ctx context.Context, local *localMatch, view View, requestedStep stepFunc) error {
	steps := stepRun{engine: e, match: local}
	err := cmp.Or(steps.run(ctx, view, requestedStep), steps.flush(ctx))
	if steps.hasStepped {
		e.armTimer(local)
	}
	return err
}

// chooseStep returns the requested step, or else the step that is due.
func (e *Engine) chooseStep(plan *Plan, view View, requestedStep stepFunc) (step Step, requested, due bool) {
	if requestedStep != nil {
		if step, requested = requestedStep(plan, view, e.Now()); requested {
			return step, true, true
		}
	}
	step, due = nextStep(plan, view, e.Now(), e.storeOutageMS(view))
	return step, false, due
}

// deliverOrCatchUp pushes the effect of steps to the sessions at this node. If this node
// has missed earlier pushes, it reads them from the log first.
func (e *Engine) deliverOrCatchUp(ctx context.Context, local *localMatch, delivered delivery) error {
	if local.deliver(delivered) {
		return nil
	}
	e.metrics.filledGaps.Inc()
	view, err := e.read(ctx, local, local.knownState().Seq)
	if err != nil {
		return e.handleLoss(ctx, local, err)
	}
	local.mu.Lock()
	defer local.mu.Unlock()
	local.catchUp(view)
	return nil
}

// reportEnd passes the result of a match that this node has ended to OnResult, and
// its arena to OnArenaEnd.
func (e *Engine) reportEnd(ctx context.Context, local *localMatch, step *Step) {
	reason := step.NewState.EndReason
	if step.Result != nil {
		reason = step.Result.Reason
	}
	e.metrics.ends.WithLabelValues(string(local.plan.Mode), string(reason)).Inc()
	if local.plan.Arena != nil {
		e.OnArenaEnd(local.plan.Arena, local.plan.Game)
	}
	if step.Result == nil {
		return
	}
	if err := CompleteStandings(ctx, e.Store, step.Result); err != nil {
		e.Logger.Warn("standings read failed; settlement retries", "match", local.plan.ID, "error", err)
		return
	}
	e.OnResult(step.Result)
}

// adoptView delivers what other nodes have done to a match, stores the new state,
// and sets the timer for the next deadline.
func (e *Engine) adoptView(local *localMatch, view View) {
	local.mu.Lock()
	local.catchUp(view)
	local.mu.Unlock()
	e.armTimer(local)
	e.scheduleNotices(local)
}

// scheduleNotices reacts to a change of the local state: it schedules the lobby
// notice, the personal results and the lifecycle events.
func (e *Engine) scheduleNotices(local *localMatch) {
	e.scheduleLifecycle(local)
	e.scheduleLobbyNotice(local, false)
	e.schedulePersonal(local)
}

// armTimer sets the timer to the instant at which this node must take the next
// step, and schedules the bots for a new question. A match that is over is kept
// for endedTTLMS and then dropped.
func (e *Engine) armTimer(local *localMatch) {
	local.mu.Lock()
	defer local.mu.Unlock()
	if local.state.Phase.hasEnded() {
		e.Wheel.Set(&local.timer, endedTTLMS*time.Millisecond, func() { e.dropLocalMatch(local) })
		return
	}
	e.scheduleBots(local)
	if local.state.DueAt == 0 {
		local.timer.Stop()
		return
	}
	wait := time.Duration(max(local.nextStepAt()-e.Now(), 0)) * time.Millisecond
	e.Wheel.Set(&local.timer, wait, func() { e.advanceDue(local) })
}

// advanceDue advances a match whose deadline has passed. If the store fails, it
// retries after storeRetryDelay.
func (e *Engine) advanceDue(local *localMatch) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	err := e.advance(ctx, local, View{State: local.knownState()})
	if err == nil || errors.Is(err, ErrNotFound) || errors.Is(err, ErrAbandoned) {
		return
	}
	e.Logger.Warn("match step failed; retrying", "match", local.plan.ID, "error", err)
	local.mu.Lock()
	defer local.mu.Unlock()
	e.Wheel.Set(&local.timer, storeRetryDelay, func() { e.advanceDue(local) })
}
