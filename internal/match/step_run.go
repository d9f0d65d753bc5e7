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
	match      *localMatch
	recipients []string // local players whose records and ranks the last read covers
	hasChanged bool     // true: the run has changed the local state, so the timer must be set again
}

// run applies steps until none is due. Steps that follow each other without a read are
// applied as one.
func (r *stepRun) run(ctx context.Context, view View, requestedStep stepFunc) error {
	for range maxStepAttempts {
		if requestedStep != nil || !view.sufficesForNextStep(r.match.plan) {
			var err error
			r.recipients = findRecipients(r.match)
			known := r.match.knownState()
			if view, err = r.read(ctx, r.match, known.Seq, append(known.survivorsToCheck(r.match.plan), r.recipients...)...); err != nil {
				return err
			}
			r.pushMissed(view)
		}
		step, requested, due := r.chooseStep(view, requestedStep)
		if !due {
			r.adoptView(r.match, view)
			return nil
		}
		chain := r.chainFrom(step, view)
		applied, err := r.tryChain(ctx, &chain)
		if err != nil {
			return err
		}
		view = View{}
		if !applied {
			continue
		}
		if requested {
			requestedStep = nil
		}
		view = chain.last
		if !view.isDue(r.Now()) && requestedStep == nil {
			return nil
		}
	}
	return errMatchChanging
}

// pushMissed pushes what this node has missed, before the pushes of a step follow.
func (r *stepRun) pushMissed(view View) {
	r.match.mu.Lock()
	knownVersion := r.match.state.Version
	r.match.catchUp(view)
	hasMissed := r.match.state.Version != knownVersion
	r.match.mu.Unlock()
	if hasMissed {
		r.hasChanged = true
		r.emitChange(r.match)
	}
}

// stepChain is a step, or several that follow each other without a wait and without a
// read. Step is their composition, which the store applies as one. A chain without phases
// only accepts an answer.
type stepChain struct {
	Step
	phases         []Phase        // the phase after each step
	last           View           // what is known of the match after the last step
	revealed       View           // what is known after the step that reveals a question; without Phase if none does
	revealedPushes int            // number of pushes up to that step
	frames         numberedFrames // the pushes of the applied chain
	nodes          []string       // that hold sessions of the match, after the chain was applied
}

// chainFrom returns the chain that begins with a step.
func (r *stepRun) chainFrom(first Step, view View) stepChain {
	chain := stepChain{Step: first}
	chain.add(r.match.plan, first, view)
	for chain.last.sufficesForNextStep(r.match.plan) && !r.mustDeliver(chain) {
		next, due := nextStep(r.match.plan, chain.last, r.Now(), 0)
		if !due {
			break
		}
		chain.Step = chain.followedBy(next)
		chain.add(r.match.plan, next, chain.last)
	}
	return chain
}

// mustDeliver reports whether a chain ends with a reveal whose personal results must be read
// before the next question opens.
func (r *stepRun) mustDeliver(chain stepChain) bool {
	return chain.last.Phase == PhaseRevealed && chain.last.Players > FullListPlayers && len(r.recipients) == 0
}

// add notes the step that was added last. view is what is known before it. A question that
// a duel opens has no records, and a reveal changes none: the store applies it only if it has
// no others. The reveal of an arena changes who is listed, so its end reads the match again.
func (c *stepChain) add(plan *Plan, step Step, view View) {
	c.phases = append(c.phases, step.NewState.Phase)
	c.last = View{State: step.NewState}
	switch isDuel, knowsTotals := plan.Arena == nil, view.Totals != nil || view.Question < 0; {
	case isDuel && step.OpensQuestion() && knowsTotals:
		c.last.Records, c.last.Totals = map[string]Record{}, view.Totals
	case isDuel && !step.OpensQuestion() && step.NewState.Phase != PhaseSealed: // answers may have come before a seal
		c.last.Records, c.last.Totals = view.Records, view.Totals
	}
	if step.NewState.Phase == PhaseRevealed {
		view.State = step.NewState
		c.revealed, c.revealedPushes = view, len(c.Pushes)
	}
}

// followedBy returns a step with the effect of two, the second of which follows the first
// without a wait.
func (s Step) followedBy(next Step) Step {
	next.From, next.Version = s.From, s.Version
	next.Pushes = append(s.Pushes, next.Pushes...)
	next.Answer = s.Answer
	if next.Scores == nil {
		next.Scores = s.Scores
	}
	return next
}

// tryChain asks the store to apply a chain. If the store applies it, tryChain delivers the
// effect here and at the other nodes, and returns true.
func (r *stepRun) tryChain(ctx context.Context, chain *stepChain) (applied bool, err error) {
	if applied, err = r.applyChain(ctx, chain); applied {
		r.deliverChain(chain)
		r.announceChain(ctx, chain)
	}
	return applied, err
}

// applyChain asks the store to apply a chain, and reports whether the store has applied it.
func (r *stepRun) applyChain(ctx context.Context, chain *stepChain) (applied bool, err error) {
	chain.Seen = r.match.knownSeen()
	if chain.Answer != nil {
		chain.ID = chain.Answer.ID // unique, too
	} else {
		chain.ID = r.attemptID()
	}
	result, err := r.Matches.Step(ctx, chain.Step)
	outcome := "taken"
	switch {
	case err != nil:
		outcome = "failed"
	case !result.Applied:
		outcome = "lost"
	}
	for _, phase := range chain.phases {
		r.metrics.steps.WithLabelValues(string(phase), outcome).Inc()
	}
	if err != nil || !result.Applied {
		return false, err
	}
	r.hasChanged = true
	chain.NewState.Version, chain.last.Version = result.Version, result.Version
	chain.nodes, chain.frames = result.Nodes, encodeFrames(chain.Pushes, result.FirstSeq)
	r.match.noteChain(chain)
	if chain.NewState.Phase == PhaseOver {
		r.countEnd(&chain.Step)
	}
	return true, nil
}

// countEnd counts a match that this node has ended, before a player can learn of the end.
func (r *stepRun) countEnd(step *Step) {
	reason := step.NewState.EndReason
	if step.Result != nil {
		reason = step.Result.Reason
	}
	r.metrics.ends.WithLabelValues(string(r.match.plan.Mode), string(reason)).Inc()
}

// deliverChain delivers the effect of an applied chain here.
func (r *stepRun) deliverChain(chain *stepChain) {
	effect := delivery{frames: chain.frames, state: &chain.NewState}
	if chain.revealed.Phase != "" {
		effect.addPersonal(r.match.plan, chain.revealed, chain.revealedPushes, r.recipients)
	}
	r.deliver(r.match, effect)
	r.emitChange(r.match)
}

// announceChain delivers the effect of an applied chain at the other nodes, and reports the
// end of the match.
func (r *stepRun) announceChain(ctx context.Context, chain *stepChain) {
	header := messageHeader{Match: chain.Match, Version: chain.NewState.Version}
	if len(chain.phases) > 0 {
		header.State = &chain.NewState
	}
	if r.match.plan.Arena == nil {
		header.Answer = new(knownAnswer)
	}
	if chain.Answer != nil {
		*header.Answer = knownAnswer{chain.Answer.Record, chain.Answer.Totals}
	}
	r.publish(ctx, chain.nodes, header, chain.frames)
	if chain.NewState.Phase == PhaseOver {
		r.reportEnd(ctx, &chain.Step)
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
			step.From = view.State
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

// noteChain stores what is known after an applied chain.
func (l *localMatch) noteChain(chain *stepChain) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen.addWrite(chain.last.Version)
	switch {
	case len(chain.phases) > 0:
		l.ownStepVersion = chain.last.Version
		l.duel = l.duel.newerAnswers(l.plan, chain.last, chain.last.Version)
	case l.duel.version == chain.Version:
		seat := l.plan.seatIndex(chain.Answer.Record.Player)
		l.duel.records[seat], l.duel.totals[seat], l.duel.version = chain.Answer.Record, chain.Answer.Totals, chain.last.Version
	}
}
