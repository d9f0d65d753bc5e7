package match

import "context"

// stepRun is the sequence of steps that a single call applies.
type stepRun struct {
	advancer    *advancer
	match       *localMatch
	hasStepped  bool     // true: at least one step was applied
	undelivered delivery // the effect of steps that is not delivered yet
}

// run applies steps until none is due.
func (r *stepRun) run(ctx context.Context, view View, requestedStep stepFunc) error {
	for range maxStepAttempts {
		if requestedStep != nil || !view.sufficesForNextStep(r.match.plan) {
			var err error
			if view, err = r.advancer.read(ctx, r.match, r.match.knownState().Seq); err != nil {
				return r.advancer.handleLoss(ctx, r.match, err)
			}
		}
		step, requested, due := r.advancer.chooseStep(r.match.plan, view, requestedStep)
		if !due {
			r.advancer.adoptView(r.match, view)
			return nil
		}
		applied, err := r.tryStep(ctx, &step)
		if err != nil {
			return err
		}
		view = View{}
		if !applied {
			continue
		}
		view.State = step.NewState
		if requested {
			requestedStep = nil
		}
		if idle, err := r.afterStep(ctx, &step, view); err != nil || idle && requestedStep == nil {
			return err
		}
	}
	return errMatchChanging
}

// tryStep asks the store to apply a step. If the store applies it, tryStep sends
// its event to the other nodes and returns true.
func (r *stepRun) tryStep(ctx context.Context, step *Step) (applied bool, err error) {
	step.ID, step.SeenVersion = r.advancer.attemptID(), r.match.knownVersion()
	result, err := r.advancer.Matches.Step(ctx, *step)
	if err != nil {
		r.advancer.metrics.steps.WithLabelValues(string(step.NewState.Phase), "failed").Inc()
		return false, r.advancer.handleLoss(ctx, r.match, err)
	}
	if !result.Applied {
		r.advancer.metrics.steps.WithLabelValues(string(step.NewState.Phase), "lost").Inc()
		return false, nil
	}
	r.advancer.metrics.steps.WithLabelValues(string(step.NewState.Phase), "taken").Inc()
	r.hasStepped = true
	step.NewState.Version = result.Version
	r.match.updateVersion(result.Version)
	encoded := encodeFrames(step.Pushes, result.FirstSeq)
	r.advancer.publishStep(ctx, r.match, result.Nodes, stepEvent{frames: encoded, state: &step.NewState, version: result.Version})
	r.undelivered.addStep(encoded, step.NewState)
	return true, nil
}

// afterStep delivers the effect of the steps, unless the next step is due already
// and needs no read. It reports whether no further step is due.
func (r *stepRun) afterStep(ctx context.Context, last *Step, view View) (idle bool, err error) {
	nextIsDue := view.isDue(r.advancer.Now())
	if !nextIsDue || !view.sufficesForNextStep(r.match.plan) {
		err = r.flush(ctx)
	}
	if last.NewState.Phase == PhaseOver {
		r.advancer.reportEnd(ctx, r.match, last)
	}
	return !nextIsDue, err
}

// flush delivers the effect of the steps. If that fails, the local state stays
// behind and recovery pushes it later.
func (r *stepRun) flush(ctx context.Context) error {
	undelivered := r.undelivered
	if undelivered.state == nil {
		return nil
	}
	r.undelivered = delivery{}
	err := r.advancer.deliverOrCatchUp(ctx, r.match, undelivered)
	r.advancer.emitChange(r.match)
	return err
}
