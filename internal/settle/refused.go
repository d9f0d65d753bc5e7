package settle

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"time"

	"laststand/internal/match"
	"laststand/internal/taskqueue"
)

const (
	maxRefusals       = 10        // then a refused result is dead
	maxRetryDelay     = time.Hour // between two tries of one that cannot even be buried
	maxDelayDoublings = 4         // doublings of the time between two tries of one that may not be buried
	// unseen is after how many sweeps in vain a parked result is another's
	// affair: settled or buried by another node.
	forgetAfterSweeps = 30
)

// parked is a result that the ledger refused. It stays pending, so nothing is lost.
// grave is what it will be once dead, but for the payload.
type refusedResult struct {
	deadLetter taskqueue.Task
	delays     int // refusals that were not its own fault, or in a burst
	retryAt    time.Time
}

// refused puts a result aside until a later sweep. One that is refused for its own
// fault goes among the dead letters at its maxTries-th refusal, which it reports,
// unless so many others are refused that something else has to be wrong. Each node
// counts its own. Beyond the queue's length parked ones are not kept in mind: their
// refusals count once there is room again.
func (s *Settler) recordRefusal(work context.Context, r match.Result, cause error) (dead bool) {
	isOwn, inBurst := s.isOwnFault(cause), s.isBurst(r, cause)
	s.metrics.countFailures(reasonOf(isOwn), 1)
	p, known := s.refused[keyOf(r)]
	if !known {
		p.deadLetter = taskqueue.Task{Game: r.Game, Topic: taskqueue.Settle, Key: r.Match}
	}
	wait := s.SweepInterval << min(p.delays, maxDelayDoublings)
	if isOwn && !inBurst {
		if wait, dead = s.countRefusal(work, r, &p, cause); dead {
			delete(s.refused, keyOf(r))
			return true
		}
	} else {
		p.delays++
	}
	p.retryAt = time.Now().Add(wait)
	if known || len(s.refused) < s.QueueSize {
		s.refused[keyOf(r)] = p
	}
	return false
}

// atFault says whether an error is the fault of the result that it is about.
func (s *Settler) isOwnFault(err error) bool {
	return errors.Is(err, errIncomplete) || s.IsRefusal(err)
}

func reasonOf(isOwn bool) string {
	if isOwn {
		return reasonRefused
	}
	return reasonUnexpected
}

// condemned counts a refusal of a result for its own fault. It gives the time until
// the next try, or buries it.
func (s *Settler) countRefusal(work context.Context, r match.Result, p *refusedResult, cause error) (wait time.Duration, dead bool) {
	_ = p.deadLetter.Fail(s.Now(), cause) // only a done task refuses
	if p.deadLetter.Tries == 1 {
		s.Logger.Error("ledger refused a result; the result stays pending for a retry", "game", r.Game, "match", r.Match, "error", cause)
	}
	if p.deadLetter.Tries >= maxRefusals && s.moveToDeadLetters(work, r, p.deadLetter) {
		return 0, true
	}
	return min(s.SweepInterval<<min(max(0, p.deadLetter.Tries-maxRefusals+1), 20), maxRetryDelay), false
}

// bury puts a result among the dead letters, and then takes it out of what is
// pending, so that its players are free and nobody waits for it. If it is cut
// short the next try comes here again and changes nothing that was done.
func (s *Settler) moveToDeadLetters(work context.Context, r match.Result, deadLetter taskqueue.Task) bool {
	ctx, cancel := context.WithTimeout(work, callTimeout)
	defer cancel()
	var err error
	if deadLetter.Payload, err = json.Marshal(r); err != nil {
		return s.recordMoveFailure(r, err)
	}
	added, err := s.DeadLetters.AddTask(ctx, deadLetter)
	if err != nil {
		return s.recordMoveFailure(r, err)
	}
	if added {
		s.metrics.dead.Inc()
		s.Logger.Error("result became a dead letter after too many refusals; see server tasks list",
			"game", r.Game, "match", r.Match, "tries", deadLetter.Tries, "error", deadLetter.Errors[len(deadLetter.Errors)-1].Error)
	}
	if err := s.Pending.MarkSettled(ctx, []match.Result{r}); err != nil {
		return s.recordMoveFailure(r, err)
	}
	return true
}

func (s *Settler) recordMoveFailure(r match.Result, err error) bool {
	s.metrics.countFailures(reasonPending, 1)
	s.Logger.Warn("dead letter failed; the result stays pending for a retry", "game", r.Game, "match", r.Match, "error", err)
	return false
}

// forget drops the parked results that sweeps do not find any more.
func (s *Settler) dropUnseen() {
	maps.DeleteFunc(s.refused, func(_ matchKey, p refusedResult) bool {
		return time.Since(p.retryAt) > forgetAfterSweeps*s.SweepInterval
	})
}
