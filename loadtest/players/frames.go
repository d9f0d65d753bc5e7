package players

import (
	"encoding/json"
	"fmt"
	"time"

	"laststand/internal/protocol"
	"laststand/loadtest/checker"
)

// receive handles a frame.
func (r *matchRun) receive(h Received) error {
	if err := r.view.Push(h.Frame, h.ClusterMS); err != nil {
		return err
	}
	if h.Seq > 0 {
		r.push(h)
		return nil
	}
	switch h.Type {
	case protocol.TypeMatchState:
		if !r.LostAt.IsZero() {
			r.group.Stats.Add(Resumed, h.ReceivedAt.Sub(r.LostAt))
			r.LostAt = time.Time{}
		}
	case "", protocol.TypeArenaLobby, protocol.TypeDraining, protocol.TypeOwn:
	case protocol.TypeWelcome:
		return r.reenter(h)
	case protocol.TypeDuelQueued, protocol.TypeArenaJoined:
		r.enter()
	case protocol.TypeDuelLeft:
		r.left()
	case protocol.TypeError:
		return r.refused(h)
	case protocol.TypeAnswered:
		return r.answered(h)
	case protocol.TypeSettled:
		r.settled(h)
	default:
		return fmt.Errorf("%w: nobody asked for %s", checker.ErrContract, h.Raw)
	}
	return nil
}

// push handles a numbered push of the match.
func (r *matchRun) push(h Received) {
	switch h.Type {
	case protocol.TypeMatchFound:
		if r.seat == nil {
			r.group.Stats.Add(Found, h.ReceivedAt.Sub(r.since))
		}
		r.hasMatch = true
	case protocol.TypeQuestion:
		r.planAnswer(h)
	case protocol.TypeQuestionClosed:
		r.answer, r.answerAt = nil, time.Time{}
		if q, closed := r.view.Question(); closed != nil {
			r.group.solutions.learn(q, *closed)
		}
	case protocol.TypeMatchOver:
		r.answer, r.overAt = nil, h.ReceivedAt
	}
	r.since = h.ReceivedAt
}

// settled records how long the server took to settle the last match.
func (r *matchRun) settled(h Received) {
	var s protocol.Settled
	if json.Unmarshal(h.Data, &s) == nil && s.Match == r.view.Match() && !r.overAt.IsZero() {
		r.group.Stats.Add(Settled, h.ReceivedAt.Sub(r.overAt))
		r.overAt = time.Time{}
	}
}
