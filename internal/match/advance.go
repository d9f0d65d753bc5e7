package match

import (
	"cmp"
	"context"
	"errors"
	"time"

	"laststand/internal/protocol"
)

// storeRetryDelay is the delay before the engine retries a step after an error of the
// store.
const storeRetryDelay = 500 * time.Millisecond

// advancer applies the steps of matches.
type advancer struct{ *lossHandler }

func newAdvancer(losses *lossHandler) *advancer {
	a := &advancer{losses}
	a.onDue(a.advanceDue)
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
	err := a.handleLoss(ctx, local, cmp.Or(steps.run(ctx, view, requestedStep), steps.flush(ctx)))
	if steps.hasStepped {
		a.armTimer(local)
	}
	return err
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

func (a *advancer) createMatch(ctx context.Context, plan *Plan, initial State, foundPush *protocol.NumberedPush) (created bool, err error) {
	if created, err = a.Matches.Create(ctx, plan, initial, foundPush); created {
		a.metrics.starts.WithLabelValues(string(plan.Mode)).Inc()
	}
	return created, err
}
