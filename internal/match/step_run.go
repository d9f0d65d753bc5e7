package match

import (
	"context"

	"laststand/internal/protocol"
)

// maxStepAttempts limits the attempts of one call. A few steps at most can follow
// each other without a wait. The limit is several times higher, because an
// attempt fails when another node applies the step first.
const maxStepAttempts = 16

// stepRun is the sequence of steps that a single call applies.
type stepRun struct {
	*localDelivery
	match       *localMatch
	recipients  []string // local players whose records and ranks the last read covers
	hasStepped  bool     // true: at least one step was applied
	undelivered delivery // the effect of steps that is not delivered yet
}

// run applies steps until none is due.
func (r *stepRun) run(ctx context.Context, view View, requestedStep stepFunc) error {
	for range maxStepAttempts {
		if requestedStep != nil || !view.sufficesForNextStep(r.match.plan) {
			var err error
			r.recipients = r.match.recipients()
			if view, err = r.read(ctx, r.match, r.match.knownState().Seq, r.recipients...); err != nil {
				return err
			}
		}
		step, requested, due := r.chooseStep(view, requestedStep)
		if !due {
			r.adoptView(r.match, view)
			return nil
		}
		applied, err := r.tryStep(ctx, &step, view)
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
		if idle := r.afterStep(ctx, &step, view); idle && requestedStep == nil {
			return nil
		}
	}
	return errMatchChanging
}

// tryStep asks the store to apply a step. If the store applies it, tryStep sends
// its event to the other nodes and returns true.
func (r *stepRun) tryStep(ctx context.Context, step *Step, view View) (applied bool, err error) {
	step.ID, step.SeenVersion = r.attemptID(), r.match.knownVersion()
	result, err := r.Matches.Step(ctx, *step)
	if err != nil {
		r.metrics.steps.WithLabelValues(string(step.NewState.Phase), "failed").Inc()
		return false, err
	}
	if !result.Applied {
		r.metrics.steps.WithLabelValues(string(step.NewState.Phase), "lost").Inc()
		return false, nil
	}
	r.metrics.steps.WithLabelValues(string(step.NewState.Phase), "taken").Inc()
	r.hasStepped = true
	step.NewState.Version = result.Version
	r.match.updateVersion(result.Version)
	encoded := encodeFrames(step.Pushes, result.FirstSeq)
	r.publish(ctx, result.Nodes, messageHeader{Match: step.Match, Version: result.Version, State: &step.NewState}, encoded)
	r.undelivered.addStep(encoded, step.NewState)
	if step.NewState.Phase == PhaseRevealed {
		r.undelivered.addPersonal(r.match.plan, view, r.recipients)
	}
	return true, nil
}

// afterStep delivers the effect of the steps, unless the next step is due already
// and needs no read. It reports whether no further step is due.
func (r *stepRun) afterStep(ctx context.Context, last *Step, view View) (idle bool) {
	nextIsDue := view.isDue(r.Now())
	needsPersonal := last.NewState.Phase == PhaseRevealed && last.NewState.Players > FullListPlayers && len(r.undelivered.personal.byPlayer) == 0
	if !nextIsDue || !view.sufficesForNextStep(r.match.plan) || needsPersonal {
		r.flush()
	}
	if last.NewState.Phase == PhaseOver {
		r.reportEnd(ctx, last)
	}
	return !nextIsDue
}

// flush delivers the effect of the steps.
func (r *stepRun) flush() {
	if r.undelivered.state != nil {
		r.deliverOrCatchUp(r.match, r.undelivered)
		r.undelivered = delivery{}
		r.emitChange(r.match)
	}
}

// stepFunc computes a requested step from a view of the match. It returns false if
// the request needs no step, or another step must come first.
type stepFunc func(p *Plan, v View, now int64) (Step, bool)

// errMatchChanging reports that other nodes won every step first.
var errMatchChanging = protocol.RetryAfter(protocol.CodeUnavailable, 100, "the match is changing; retry in 100 ms")

// chooseStep returns the requested step, or else the step that is due.
func (r *stepRun) chooseStep(view View, requestedStep stepFunc) (step Step, requested, due bool) {
	if requestedStep != nil {
		if step, requested = requestedStep(r.match.plan, view, r.Now()); requested {
			return step, true, true
		}
	}
	step, due = nextStep(r.match.plan, view, r.Now(), r.storeOutageMS())
	return step, false, due
}

// reportEnd passes the result of a match that this node has ended to OnResult, and
// its arena to OnArenaEnd.
func (r *stepRun) reportEnd(ctx context.Context, step *Step) {
	plan := r.match.plan
	reason := step.NewState.EndReason
	if step.Result != nil {
		reason = step.Result.Reason
	}
	r.metrics.ends.WithLabelValues(string(plan.Mode), string(reason)).Inc()
	if plan.Arena != nil {
		r.OnArenaEnd(plan.Arena, plan.Game)
	}
	if step.Result == nil {
		return
	}
	if err := CompleteStandings(ctx, r.Matches, step.Result); err != nil {
		r.Logger.Warn("standings read failed; settlement retries", "match", plan.ID, "error", err)
		return
	}
	r.OnResult(step.Result)
}

// storeOutageMS returns how long this node could not reach the store. It is 0 in normal
// operation.
func (d *localDelivery) storeOutageMS() int64 {
	outageMS := d.Now() - d.storeReachedAt.Load()
	if outageMS < recoveryInterval.Milliseconds()+minOutageMS {
		return 0
	}
	return outageMS
}
