package settle

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
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

// refusedResult is a result that the ledger refused. It stays pending, so nothing
// is lost. deadLetter is the task that it will become, without the payload.
type refusedResult struct {
	deadLetter taskqueue.Task
	retryAt    time.Time // the next attempt is in the first sweep after this
}

func (r refusedResult) isKnown() bool { return !r.retryAt.IsZero() }

var (
	errIncomplete  = errors.New("its standings are gone from Redis or cannot be read; see the log of the nodes")
	errUndecodable = errors.New("its stored text cannot be decoded; repair the field undecodable, and make it the payload")
)

// recordRefusal remembers a refused result for a later sweep. A result that is refused for its
// own fault becomes a dead letter at the maxRefusals-th refusal, and recordRefusal
// reports that. If many other results are refused too, the cause must be something
// else, and no dead letter is made. A result without standings never reached the ledger, so
// it says nothing about other results.
//
// Each node counts its own refusals. It remembers at most QueueSize
// refused results. The refusals of other results are not counted until there is room.
func (s *Service) recordRefusal(workCtx context.Context, result match.Result, cause error) (isDead bool) {
	isUndecodable := errors.Is(cause, errUndecodable)
	isIncomplete := isUndecodable || errors.Is(cause, errIncomplete)
	isOwnFault := isIncomplete || s.IsRefusal(cause)
	isHeld := !isIncomplete && s.holds.record(result, cause, isOwnFault, s.Logger)
	reason := reasonUnexpected
	switch {
	case isUndecodable:
		reason = reasonUndecodable
	case isOwnFault:
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

const (
	// maxRefusedInRow is how many results of a game the ledger may refuse, one
	// after another. With more, the cause is something other than these results.
	maxRefusedInRow = 3
	logInterval     = time.Minute // how often a game's unexpected refusals are logged
)

type matchKey struct{ game, id string }

func newMatchKey(result match.Result) matchKey { return matchKey{result.Game, result.Match} }

// gameHold counts the refusals of one game in a row. After more than
// maxRefusedInRow the game is on hold: no result of the game is tried before
// retryAt, and none becomes a dead letter.
type gameHold struct {
	refusedInRow map[matchKey]bool // refused since the ledger accepted one; maxRefusedInRow+1 at most
	attempts     int64             // while on hold
	retryAt      time.Time         // zero: not on hold
	loggedAt     time.Time
}

// gameHolds are the holds of all games with refused results, by game.
type gameHolds map[string]*gameHold

// contain reports whether a result must wait because its game is on hold.
func (h gameHolds) contain(result match.Result) bool {
	hold := h[result.Game]
	return hold != nil && time.Now().Before(hold.retryAt)
}

// release ends the holds of games whose results the ledger accepted.
func (h gameHolds) release(results []match.Result, logger *slog.Logger) {
	for _, result := range results {
		if hold := h[result.Game]; hold != nil && !hold.retryAt.IsZero() {
			logger.Info("ledger accepts results of the game again", "game", result.Game)
		}
		delete(h, result.Game)
	}
}

// record records a refusal in the hold of its game, and reports whether the game is now on
// hold. Then the next attempt comes later each time.
func (h gameHolds) record(result match.Result, cause error, isOwnFault bool, logger *slog.Logger) (isHeld bool) {
	hold := h[result.Game]
	if hold == nil {
		hold = &gameHold{refusedInRow: map[matchKey]bool{}}
		h[result.Game] = hold
	}
	if len(hold.refusedInRow) <= maxRefusedInRow {
		hold.refusedInRow[newMatchKey(result)] = true
	}
	isHeld = len(hold.refusedInRow) > maxRefusedInRow
	if isHeld {
		hold.attempts++
		hold.retryAt = time.Now().Add(callBackoff.RandomWait(hold.attempts))
	}
	if (isHeld || !isOwnFault) && time.Since(hold.loggedAt) >= logInterval {
		hold.loggedAt = time.Now()
		logger.Error("ledger refused results for a fault that is not theirs; results stay pending for a retry",
			"game", result.Game, "match", result.Match, "all", isHeld, "error", cause)
	}
	return isHeld
}
