package match

import "context"

// stepRun is the sequence of steps that a single call applies.
type stepRun struct {
	engine      *Engine
	match       *localMatch
	recipients  personalRecipients // local players whose records were read for their personal results
	hasStepped  bool               // true: at least one step was applied
	undelivered delivery           // the effect of steps that is not delivered yet
}

// run applies steps until none is due.
func (st *stepRun) run(ctx context.Context, v View, wanted stepFunc) error {
	for range maxSteps {
		if wanted != nil || !v.decidesNextStep(st.match.plan) {
			var err error
			if v, err = st.read(ctx, v); err != nil {
				return st.engine.handleLoss(ctx, st.match, err)
			}
		}
		s, requested, due := st.engine.chooseStep(st.match.plan, v, wanted)
		if !due {
			st.engine.adoptView(st.match, v)
			return nil
		}
		won, err := st.tryStep(ctx, &s, v)
		if err != nil {
			return err
		}
		v = View{}
		if !won {
			continue
		}
		v.State = s.To
		if requested {
			wanted = nil
		}
		if idle, err := st.afterStep(ctx, &s, v); err != nil || idle && wanted == nil {
			return err
		}
	}
	return errMatchChanging
}

// read reads the match, together with the records of the players who get
// personal results. It reads again if only the first read shows that personal
// results are due, or for which question.
func (st *stepRun) read(ctx context.Context, v View) (View, error) {
	for {
		var err error
		st.recipients = st.match.claimRecipients(v)
		q := st.match.query(st.match.knownState().Seq, st.recipients.players...)
		q.OmitRecords = st.recipients.records.byPlayer != nil
		v, err = st.engine.readQuery(ctx, st.match, q)
		if stale := st.recipients.isOutdated(v) || st.recipients.players == nil && st.match.hasPersonalRecipients(v); err != nil || !stale {
			return v, err
		}
	}
}

// tryStep asks the store to apply a step. If the store applies it, tryStep sends
// its event to the other nodes and returns true.
func (st *stepRun) tryStep(ctx context.Context, s *Step, v View) (won bool, err error) {
	s.ID, s.SeenVersion = st.engine.attemptID(), st.match.knownVersion()
	result, err := st.engine.Store.Step(ctx, *s)
	if err != nil {
		st.engine.metrics.steps.WithLabelValues(string(s.To.Phase), "failed").Inc()
		return false, st.engine.handleLoss(ctx, st.match, err)
	}
	if !result.Applied {
		st.engine.metrics.steps.WithLabelValues(string(s.To.Phase), "lost").Inc()
		return false, nil
	}
	st.engine.metrics.steps.WithLabelValues(string(s.To.Phase), "taken").Inc()
	st.hasStepped = true
	s.To.Version = result.Version
	st.match.updateVersion(result.Version)
	f := encodeFrames(s.Pushes, result.FirstSeq)
	st.engine.publishStep(ctx, st.match, result.Nodes, stepEvent{frames: f, state: &s.To, version: result.Version})
	st.undelivered.addStep(f, s.To)
	if s.To.Phase == Revealed {
		st.undelivered.addPersonal(st.match.plan, v, st.recipients)
	}
	return true, nil
}

// afterStep delivers the effect of the steps, unless the next step is due already
// and needs no read. It reports whether no further step is due.
func (st *stepRun) afterStep(ctx context.Context, last *Step, v View) (idle bool, err error) {
	nextIsDue := v.isDue(st.engine.Now())
	if !nextIsDue || !v.decidesNextStep(st.match.plan) || !st.undelivered.hasPersonalFor(v) {
		err = st.flush(ctx)
	}
	if last.To.Phase == Over {
		st.engine.reportEnd(ctx, st.match, last)
	}
	return !nextIsDue, err
}

// flush delivers the effect of the steps. If that fails, the local state stays
// behind and recovery pushes it later.
func (st *stepRun) flush(ctx context.Context) error {
	d := st.undelivered
	if d.state == nil {
		return nil
	}
	st.undelivered = delivery{}
	err := st.engine.deliver(ctx, st.match, d)
	st.engine.scheduleNotices(st.match)
	return err
}
