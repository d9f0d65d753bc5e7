package settle

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"laststand/internal/match"
	"laststand/internal/taskqueue"
)

const (
	maxRefusals = 10 // then a refused result is a dead letter
	// forgetAfterSweeps is how many sweeps must miss a refused result before this
	// node forgets it. Then another node has settled it or made it a dead letter.
	forgetAfterSweeps = 30
)

var errIncomplete = errors.New("its standings are gone from Redis or cannot be read; see the log of the nodes")

// recordRefusal remembers a refused result for a later sweep. A result that is refused for its
// own fault becomes a dead letter at the maxRefusals-th refusal, and recordRefusal
// reports that. If many other results are refused too, the cause must be something
// else, and no dead letter is made. A result without standings never reached the ledger, so
// it says nothing about other results.
//
// Each node counts its own refusals. It remembers at most QueueSize
// refused results. The refusals of other results are not counted until there is room.
func (s *Service) recordRefusal(workCtx context.Context, result match.Result, cause error) (isDead bool) {
	isIncomplete := errors.Is(cause, errIncomplete)
	isOwnFault := isIncomplete || s.IsRefusal(cause)
	isHeld := !isIncomplete && s.holds.record(result, cause, isOwnFault, s.Logger)
	reason := reasonUnexpected
	if isOwnFault {
		reason = reasonRefused
	}
	s.metrics.countFailures(reason, 1)
	key := newMatchKey(result)
	refusal := s.refusedResults[key]
	if !refusal.isKnown() {
		if len(s.refusedResults) >= s.QueueSize {
			return false
		}
		refusal.deadLetter = taskqueue.Task{Game: result.Game, Topic: taskqueue.SettleTopic, Key: result.Match}
	}
	refusal.retryAt = time.Now().Add(sweepInterval)
	if isOwnFault && !isHeld {
		_ = refusal.deadLetter.Fail(s.Now(), cause) // fails only for a task that is done
		if refusal.deadLetter.Tries == 1 {
			s.Logger.Error("ledger refused a result; the result stays pending for a retry", "game", result.Game, "match", result.Match, "error", cause)
		}
		if refusal.deadLetter.Tries >= maxRefusals && s.moveToDeadLetters(workCtx, result, refusal.deadLetter) {
			delete(s.refusedResults, key)
			return true
		}
	}
	s.refusedResults[key] = refusal
	return false
}

// moveToDeadLetters makes a result a dead letter, and then removes it from
// Pending. Its players are then free, and no node waits for the result. If it is
// interrupted, the next attempt repeats it, and changes nothing that was done.
func (s *Service) moveToDeadLetters(workCtx context.Context, result match.Result, deadLetter taskqueue.Task) (isMoved bool) {
	ctx, cancel := context.WithTimeout(workCtx, callTimeout)
	defer cancel()
	var added bool
	payload, err := json.Marshal(result)
	if err == nil {
		deadLetter.Payload = payload
		added, err = s.DeadLetters.AddTask(ctx, deadLetter)
	}
	if added {
		s.metrics.dead.Inc()
		s.Logger.Error("result became a dead letter after too many refusals; see server tasks list",
			"game", result.Game, "match", result.Match, "tries", deadLetter.Tries, "error", deadLetter.Errors[len(deadLetter.Errors)-1].Error)
	}
	if err == nil {
		result.CountsForLeaderboards = false // the ledger does not have it
		err = s.Pending.MarkSettled(ctx, []match.Result{result})
	}
	if err != nil {
		s.metrics.countFailures(reasonPending, 1)
		s.Logger.Warn("dead letter failed; the result stays pending for a retry", "game", result.Game, "match", result.Match, "error", err)
	}
	return err == nil
}
