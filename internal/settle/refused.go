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
	maxRefusals       = 10        // then a refused result is a dead letter
	maxRetryDelay     = time.Hour // between attempts if even the move to the dead letters fails
	maxDelayDoublings = 4         // how often the delay doubles if the result may not become a dead letter
	// forgetAfterSweeps is how many sweeps must miss a refused result before this
	// node forgets it. Then another node has settled it or made it a dead letter.
	forgetAfterSweeps = 30
)

// refusedResult is a result that the ledger refused. It stays pending, so nothing
// is lost. deadLetter is the task that it will become, without the payload.
type refusedResult struct {
	deadLetter taskqueue.Task
	delays     int // refusals that were not its own fault, or were part of a burst
	retryAt    time.Time
}

// recordRefusal remembers a refused result for a later sweep. A result that is refused for its
// own fault becomes a dead letter at the maxRefusals-th refusal, and recordRefusal
// reports that. If many other results are refused too, the cause must be something
// else, and no dead letter is made.
//
// Each node counts its own refusals. It remembers at most QueueSize
// refused results. The refusals of other results are not counted until there is room.
func (s *Service) recordRefusal(workCtx context.Context, result match.Result, cause error) (dead bool) {
	isOwn, inBurst := s.isOwnFault(cause), s.recordRefusalInHold(result, cause)
	s.metrics.countFailures(failureReason(isOwn), 1)
	refusal, known := s.refusedResults[newMatchKey(result)]
	if !known {
		refusal.deadLetter = taskqueue.Task{Game: result.Game, Topic: taskqueue.SettleTopic, Key: result.Match}
	}
	wait := s.SweepInterval << min(refusal.delays, maxDelayDoublings)
	if isOwn && !inBurst {
		if wait, dead = s.countRefusal(workCtx, result, &refusal, cause); dead {
			delete(s.refusedResults, newMatchKey(result))
			return true
		}
	} else {
		refusal.delays++
	}
	refusal.retryAt = time.Now().Add(wait)
	if known || len(s.refusedResults) < s.QueueSize {
		s.refusedResults[newMatchKey(result)] = refusal
	}
	return false
}

// isOwnFault reports whether an error is the fault of its result.
func (s *Service) isOwnFault(err error) bool {
	return errors.Is(err, errIncomplete) || s.IsRefusal(err)
}

func failureReason(isOwn bool) string {
	if isOwn {
		return reasonRefused
	}
	return reasonUnexpected
}

// countRefusal counts a refusal of a result for its own fault. It sets the time of
// the next attempt, or makes the result a dead letter.
func (s *Service) countRefusal(workCtx context.Context, result match.Result, refusal *refusedResult, cause error) (wait time.Duration, dead bool) {
	_ = refusal.deadLetter.Fail(s.Now(), cause) // fails only for a task that is done
	if refusal.deadLetter.Tries == 1 {
		s.Logger.Error("ledger refused a result; the result stays pending for a retry", "game", result.Game, "match", result.Match, "error", cause)
	}
	if refusal.deadLetter.Tries >= maxRefusals && s.moveToDeadLetters(workCtx, result, refusal.deadLetter) {
		return 0, true
	}
	return min(s.SweepInterval<<min(max(0, refusal.deadLetter.Tries-maxRefusals+1), 20), maxRetryDelay), false
}

// moveToDeadLetters makes a result a dead letter, and then removes it from
// Pending. Its players are then free, and no node waits for the result. If it is
// interrupted, the next attempt repeats it, and changes nothing that was done.
func (s *Service) moveToDeadLetters(workCtx context.Context, result match.Result, deadLetter taskqueue.Task) bool {
	ctx, cancel := context.WithTimeout(workCtx, callTimeout)
	defer cancel()
	var err error
	if deadLetter.Payload, err = json.Marshal(result); err != nil {
		return s.recordMoveFailure(result, err)
	}
	added, err := s.DeadLetters.AddTask(ctx, deadLetter)
	if err != nil {
		return s.recordMoveFailure(result, err)
	}
	if added {
		s.metrics.dead.Inc()
		s.Logger.Error("result became a dead letter after too many refusals; see server tasks list",
			"game", result.Game, "match", result.Match, "tries", deadLetter.Tries, "error", deadLetter.Errors[len(deadLetter.Errors)-1].Error)
	}
	if err := s.Pending.MarkSettled(ctx, []match.Result{result}); err != nil {
		return s.recordMoveFailure(result, err)
	}
	return true
}

func (s *Service) recordMoveFailure(result match.Result, err error) bool {
	s.metrics.countFailures(reasonPending, 1)
	s.Logger.Warn("dead letter failed; the result stays pending for a retry", "game", result.Game, "match", result.Match, "error", err)
	return false
}

// forgetUnseen forgets the refused results that sweeps no longer find.
func (s *Service) forgetUnseen() {
	maps.DeleteFunc(s.refusedResults, func(_ matchKey, refusal refusedResult) bool {
		return time.Since(refusal.retryAt) > forgetAfterSweeps*s.SweepInterval
	})
}
