package match

import (
	"context"
	"errors"
	"time"
)

// storeRetryDelay is the delay before the engine retries a step after an error of the
// store.
const storeRetryDelay = 500 * time.Millisecond

// advancer applies the steps of matches. It ends matches that the store has lost.
type advancer struct{ *localDelivery }

func newAdvancer(local *localDelivery) *advancer {
	a := &advancer{local}
	a.onDue, a.onBehind = a.advanceDue, a.catchUp
	a.onChange = append(a.onChange, a.scheduleLobbyNotice)
	return a
}

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
	steps := stepRun{localDelivery: a.localDelivery, match: local}
	err := steps.run(ctx, view, requestedStep)
	err = a.handleLoss(ctx, local, err)
	if steps.hasChanged {
		a.armTimer(local)
	}
	return err
}

// advanceDue advances a match whose deadline has passed. If the store fails, it
// retries after storeRetryDelay.
func (a *advancer) advanceDue(local *localMatch) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	err := a.advance(ctx, local, local.knownView())
	if err == nil || isGone(err) || errors.Is(err, ErrAbandoned) {
		return
	}
	a.Logger.Warn("match step failed; retrying", "match", local.plan.ID, "error", err)
	local.mu.Lock()
	defer local.mu.Unlock()
	if !local.isDropped {
		a.Wheel.Set(&local.timer, storeRetryDelay, func() { a.advanceDue(local) })
	}
}

// catchUp reads what this node has missed of a match. If that fails, the next search for
// missed pushes schedules it again.
func (a *advancer) catchUp(local *localMatch) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	view, err := a.refresh(ctx, local)
	if err != nil {
		a.Logger.Debug("read of missed pushes failed; the next search retries", "match", local.plan.ID, "error", err)
		return
	}
	if len(view.Frames) > 0 {
		a.metrics.filledGaps.Inc()
	}
}

// scheduleLobbyNotice schedules a notice to the players in a lobby who have not got one
// about its newest version.
func (a *advancer) scheduleLobbyNotice(local *localMatch) {
	local.mu.Lock()
	isOutdated := local.state.Phase == PhaseLobby && local.state.Version > local.lobby.version
	local.mu.Unlock()
	if isOutdated {
		a.scheduleCatchUp(local)
	}
}

func (a *advancer) createMatch(ctx context.Context, m NewMatch) (created bool, err error) {
	if created, err = a.Matches.Create(ctx, m); created {
		a.metrics.starts.WithLabelValues(string(m.Plan.Mode)).Inc()
	}
	return created, err
}
