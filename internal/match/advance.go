package match

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
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

// advancer applies the steps of matches and delivers their effects to the sessions at
// this node.
type advancer struct {
	*messenger
	listeners      []func(*localMatch)
	storeReachedAt atomic.Int64 // cluster time of the last successful round trip to the store
}

func newAdvancer(messenger *messenger) *advancer {
	a := &advancer{messenger: messenger}
	a.storeReachedAt.Store(messenger.Now())
	return a
}

// stepFunc computes a requested step from a view of the match. It returns false if
// the request needs no step, or another step must come first.
type stepFunc func(p *Plan, v View, now int64) (Step, bool)

// requestStep applies the steps that must come first, then the requested step,
// then the steps that become due.
func (a *advancer) requestStep(ctx context.Context, match string, requestedStep stepFunc) error {
	local, err := a.loadMatch(ctx, match)
	if err != nil {
		return err
	}
	return a.runSteps(ctx, local, View{}, requestedStep)
}

// advance applies all due steps. It computes the first one from the view. If the
// view is insufficient or outdated, it reads the match.
func (a *advancer) advance(ctx context.Context, local *localMatch, view View) error {
	return a.runSteps(ctx, local, view, nil)
}

// runSteps applies steps until none is due, then sets the timer. An earlier
// timer would apply the following steps a second time.
func (a *advancer) runSteps(ctx context.Context, local *localMatch, view View, requestedStep stepFunc) error {
	steps := stepRun{advancer: a, match: local}
	err := cmp.Or(steps.run(ctx, view, requestedStep), steps.flush(ctx))
	if steps.hasStepped {
		a.armTimer(local)
	}
	return err
}

// chooseStep returns the requested step, or else the step that is due.
func (a *advancer) chooseStep(plan *Plan, view View, requestedStep stepFunc) (step Step, requested, due bool) {
	if requestedStep != nil {
		if step, requested = requestedStep(plan, view, a.Now()); requested {
			return step, true, true
		}
	}
	step, due = nextStep(plan, view, a.Now(), a.storeOutageMS(view))
	return step, false, due
}

// deliverOrCatchUp pushes the effect of steps to the sessions at this node. If this node
// has missed earlier pushes, it reads them from the log first.
func (a *advancer) deliverOrCatchUp(ctx context.Context, local *localMatch, delivered delivery) error {
	if local.deliver(delivered) {
		return nil
	}
	a.metrics.filledGaps.Inc()
	view, err := a.read(ctx, local, local.knownState().Seq)
	if err != nil {
		return a.handleLoss(ctx, local, err)
	}
	local.mu.Lock()
	defer local.mu.Unlock()
	local.catchUp(view)
	return nil
}

// reportEnd passes the result of a match that this node has ended to OnResult, and
// its arena to OnArenaEnd.
func (a *advancer) reportEnd(ctx context.Context, local *localMatch, step *Step) {
	reason := step.NewState.EndReason
	if step.Result != nil {
		reason = step.Result.Reason
	}
	a.metrics.ends.WithLabelValues(string(local.plan.Mode), string(reason)).Inc()
	if local.plan.Arena != nil {
		a.OnArenaEnd(local.plan.Arena, local.plan.Game)
	}
	if step.Result == nil {
		return
	}
	if err := CompleteStandings(ctx, a.Matches, step.Result); err != nil {
		a.Logger.Warn("standings read failed; settlement retries", "match", local.plan.ID, "error", err)
		return
	}
	a.OnResult(step.Result)
}

// adoptView delivers what other nodes have done to a match, stores the new state,
// and sets the timer for the next deadline.
func (a *advancer) adoptView(local *localMatch, view View) {
	local.mu.Lock()
	local.catchUp(view)
	local.mu.Unlock()
	a.armTimer(local)
	a.emitChange(local)
}

// emitChange tells the listeners that the local state of a match may have changed.
func (a *advancer) emitChange(local *localMatch) {
	for _, listener := range a.listeners {
		listener(local)
	}
}

// onChange adds listeners for changes of the local state of matches. A listener must
// not block. Only New calls it.
func (a *advancer) onChange(listeners ...func(*localMatch)) {
	a.listeners = append(a.listeners, listeners...)
}

// armTimer sets the timer to the instant at which this node must take the next
// step. A match that is over is kept
// for endedTTLMS and then dropped.
func (a *advancer) armTimer(local *localMatch) {
	local.mu.Lock()
	defer local.mu.Unlock()
	if local.state.Phase.hasEnded() {
		a.Wheel.Set(&local.timer, endedTTLMS*time.Millisecond, func() { a.dropLocalMatch(local) })
		return
	}
	if local.state.DueAt == 0 {
		local.timer.Stop()
		return
	}
	wait := time.Duration(max(local.nextStepAt()-a.Now(), 0)) * time.Millisecond
	a.Wheel.Set(&local.timer, wait, func() { a.advanceDue(local) })
}

// advanceDue advances a match whose deadline has passed. If the store fails, it
// retries after storeRetryDelay.
func (a *advancer) advanceDue(local *localMatch) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	err := a.advance(ctx, local, View{State: local.knownState()})
	if err == nil || errors.Is(err, ErrNotFound) || errors.Is(err, ErrAbandoned) {
		return
	}
	a.Logger.Warn("match step failed; retrying", "match", local.plan.ID, "error", err)
	local.mu.Lock()
	defer local.mu.Unlock()
	a.Wheel.Set(&local.timer, storeRetryDelay, func() { a.advanceDue(local) })
}

// loadMatch returns a match that this node holds, or loads it. Clients send any
// text as a match id. A text that is not a valid id is not found and never
// becomes part of a key.
func (a *advancer) loadMatch(ctx context.Context, match string) (*localMatch, error) {
	if local := a.findLocalMatch(match); local != nil {
		return local, nil
	}
	if !protocol.IsMatchID(match) {
		return nil, ErrNotFound
	}
	view, err := a.Matches.Read(ctx, ReadQuery{Match: match, WantPlan: true, AfterSeq: -1})
	if err != nil {
		a.countUnreadable(match, err)
		return nil, err
	}
	local := a.storeLocalMatch(newLocalMatch(view))
	a.armTimer(local)
	a.emitChange(local)
	return local, nil
}

// read reads the part of a match that query describes.
func (a *advancer) read(ctx context.Context, local *localMatch, after int64, players ...string) (View, error) {
	view, err := a.Matches.Read(ctx, local.query(after, players...))
	local.updateVersion(view.Version)
	return view, err
}
