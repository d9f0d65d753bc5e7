package match

import (
	"cmp"
	"context"
	"errors"
	"time"

	"laststand/internal/protocol"
)

const (
	// retryAfter is how soon a step is tried again that the store failed.
	retryAfter = 500 * time.Millisecond
	// maxSteps bounds the steps that one call tries: several times what the
	// longest course without a wait has, for those that others take first.
	maxSteps = 16
)

// errMatchChanging says that others have taken every step first.
var errMatchChanging = protocol.RetryAfter(protocol.CodeUnavailable, 100, "the match is just changing; try again")

// stepFunc is the step that somebody asks for, by what was read of a match; false
// where none is.
type stepFunc func(p *Plan, v View, now int64) (Step, bool)

// Leave forfeits a duel for one of its players. A match that is over, or has
// been left before, is left as it is, and so is an arena; ErrNotFound where
// the player has no seat in it.
func (e *Engine) Leave(ctx context.Context, match, player string) error {
	if err := e.CheckSeat(ctx, match, player); err != nil {
		return err
	}
	return e.requestStep(ctx, match, func(p *Plan, v View, now int64) (Step, bool) { return forfeitStep(p, v, player, now) })
}

// requestStep takes a step that somebody asks for, once the steps are taken that have
// to come first, and then what is due after it.
func (e *Engine) requestStep(ctx context.Context, match string, wanted stepFunc) error {
	l, err := e.loadMatch(ctx, match)
	if err != nil {
		return err
	}
	return e.runSteps(ctx, l, View{}, wanted)
}

// advance takes all steps of a match that are due, beginning with what a view
// says; where that is not enough, or out of date so that the step is lost, the
// match is read.
func (e *Engine) advance(ctx context.Context, l *localMatch, v View) error {
	return e.runSteps(ctx, l, v, nil)
}

// runSteps takes steps until none is due. The wheel is set once all are taken:
// else it would take those that follow at once beside this course.
func (e *Engine) runSteps(ctx context.Context, l *localMatch, v View, wanted stepFunc) error {
	st := stepRun{engine: e, match: l}
	err := cmp.Or(st.run(ctx, v, wanted), st.flush(ctx))
	if st.hasStepped {
		e.armTimer(l)
	}
	return err
}

// chooseStep is the step that is asked for, or else the one that is due.
func (e *Engine) chooseStep(p *Plan, v View, wanted stepFunc) (s Step, requested, due bool) {
	if wanted != nil {
		if s, requested = wanted(p, v, e.Now()); requested {
			return s, true, true
		}
	}
	s, due = nextStep(p, v, e.Now(), e.storeOutageMS(v))
	return s, false, due
}

// deliver pushes to the sessions here what steps of a match have led to. What this
// node has missed before that is read from the log first.
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

// reportEnd hands on the result of a match that this node has ended.
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
		e.Logger.Warn("the standings of a match could not be read; settlement comes back to them", "match", l.plan.ID, "error", err)
		return
	}
	e.OnResult(s.Result)
}

// adoptView takes over what other nodes have done to a match, and waits for its
// next deadline.
func (e *Engine) adoptView(l *localMatch, v View) {
	l.mu.Lock()
	l.catchUp(v)
	l.mu.Unlock()
	e.armTimer(l)
	e.scheduleNotices(l)
}

// scheduleNotices follows a change of what is known of a match here: those in its lobby
// are told who is there, players of a match of many what a revealed question
// did to them, and who listens that the match begins or is over.
func (e *Engine) scheduleNotices(l *localMatch) {
	e.scheduleLifecycle(l)
	e.scheduleLobbyNotice(l, false)
	e.schedulePersonal(l)
}

// armTimer waits until the next step of the newest state known here is this node's to
// take, and sets the bots on a question that is new here. A match that is over is
// kept while its players may still ask for it, then let go.
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

// advanceDue advances a match whose deadline has passed; where the store fails it
// tries again soon.
func (e *Engine) advanceDue(l *localMatch) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	err := e.advance(ctx, l, View{State: l.knownState()})
	if err == nil || errors.Is(err, ErrNotFound) || errors.Is(err, ErrAbandoned) {
		return
	}
	e.Logger.Warn("a match could not be advanced; trying again", "match", l.plan.ID, "error", err)
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Wheel.Set(&l.timer, retryAfter, func() { e.advanceDue(l) })
}
