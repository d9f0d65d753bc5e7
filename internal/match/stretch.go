package match

import "context"

// stretch is a part of a match's course: the steps that one call takes.
type stretch struct {
	e      *Engine
	l      *live
	owed   debt     // who is here and was read to be told their own
	taken  bool     // a step was
	untold delivery // what steps have led to that is not delivered yet
}

// steps takes steps until none is due.
func (st *stretch) steps(ctx context.Context, v View, wanted choice) error {
	for range maxSteps {
		if wanted != nil || !v.enough(st.l.plan) {
			var err error
			if v, err = st.look(ctx, v); err != nil {
				return st.e.lost(ctx, st.l, err)
			}
		}
		s, asked, due := st.e.choose(st.l.plan, v, wanted)
		if !due {
			st.e.follow(st.l, v)
			return nil
		}
		taken, err := st.take(ctx, &s, v)
		if err != nil {
			return err
		}
		v = View{}
		if !taken {
			continue
		}
		v.State = s.To
		if asked {
			wanted = nil
		}
		if ended, err := st.pause(ctx, &s, v); err != nil || ended && wanted == nil {
			return err
		}
	}
	return errMoving
}

// look reads the match, and those with it who are owed their own: once more where
// only the reading shows that they are, or by which question.
func (st *stretch) look(ctx context.Context, v View) (View, error) {
	for {
		var err error
		st.owed = st.l.owed(v)
		q := st.l.query(st.l.known().Seq, st.owed.players...)
		q.Recorded = st.owed.records.of != nil
		v, err = st.e.readBy(ctx, st.l, q)
		if again := st.owed.past(v) || st.owed.players == nil && st.l.owes(v); err != nil || !again {
			return v, err
		}
	}
}

// take tries a step and, where this node has won it, tells the other nodes what
// it caused.
func (st *stretch) take(ctx context.Context, s *Step, v View) (taken bool, err error) {
	s.ID, s.Seen = st.e.attemptID(), st.l.seen()
	done, err := st.e.Store.Step(ctx, *s)
	if err != nil {
		st.e.metrics.steps.WithLabelValues(string(s.To.Phase), "failed").Inc()
		return false, st.e.lost(ctx, st.l, err)
	}
	if !done.Taken {
		st.e.metrics.steps.WithLabelValues(string(s.To.Phase), "lost").Inc()
		return false, nil
	}
	st.e.metrics.steps.WithLabelValues(string(s.To.Phase), "taken").Inc()
	st.taken = true
	s.To.Version = done.Version
	st.l.see(done.Version)
	f := encode(s.Pushes, done.First)
	st.e.publish(ctx, st.l, done.Nodes, news{frames: f, state: &s.To, version: done.Version})
	st.untold.add(f, s.To)
	if s.To.Phase == Revealed {
		st.untold.reveal(st.l.plan, v, st.owed)
	}
	return true, nil
}

// pause delivers what steps have led to, unless the next is due at once too and
// nothing is to be read before it; it says whether none is.
func (st *stretch) pause(ctx context.Context, last *Step, v View) (ended bool, err error) {
	goesOn := v.due(st.e.Now())
	if !goesOn || !v.enough(st.l.plan) || !st.untold.whole(v) {
		err = st.tell(ctx)
	}
	if last.To.Phase == Over {
		st.e.over(ctx, st.l, last)
	}
	return !goesOn, err
}

// tell delivers what steps have led to. Where that fails the state known here
// stays behind, and recovery pushes it.
func (st *stretch) tell(ctx context.Context) error {
	d := st.untold
	if d.state == nil {
		return nil
	}
	st.untold = delivery{}
	err := st.e.deliver(ctx, st.l, d)
	st.e.moved(st.l)
	return err
}
