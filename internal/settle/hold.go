package settle

import (
	"errors"
	"slices"
	"time"

	"laststand/internal/match"
)

const (
	// maxRefusedInRow is how many results of a game the ledger may refuse, one
	// after another. With more, the cause is something other than these results.
	maxRefusedInRow = 3
	// logInterval is how often a game's refusals are logged.
	logInterval = time.Minute
)

// gameHold counts the refusals of one game in a row. After more than
// maxRefusedInRow the game is on hold: no result of the game is tried before
// retryAt.
type gameHold struct {
	refusedInRow map[matchKey]bool // refused since the ledger accepted one; maxRefusedInRow+1 at most
	wait         backoff
	retryAt      time.Time // no attempt for the game before this time
	loggedAt     time.Time
}

// isBurst reports whether the game is on hold. Then no result becomes a dead
// letter, and all results of the game wait.
func (h *gameHold) isBurst() bool { return len(h.refusedInRow) > maxRefusedInRow }

// recordRefusalInHold records a refusal and reports whether its game is on hold. A result
// without standings never reached the ledger, so it says nothing about other
// results of the game.
func (s *Service) recordRefusalInHold(result match.Result, cause error) bool {
	return !errors.Is(cause, errIncomplete) && s.addToHold(result, cause).isBurst()
}

// addToHold records a refusal in the hold of its game. If the game is on hold, the
// next attempt comes later each time.
func (s *Service) addToHold(result match.Result, cause error) *gameHold {
	h := s.holds[result.Game]
	if h == nil {
		h = &gameHold{refusedInRow: map[matchKey]bool{}}
		s.holds[result.Game] = h
	}
	if !h.isBurst() {
		h.refusedInRow[newMatchKey(result)] = true
	}
	if h.isBurst() {
		h.retryAt = time.Now().Add(h.wait.next())
	}
	if (h.isBurst() || !s.isOwnFault(cause)) && time.Since(h.loggedAt) >= logInterval {
		h.loggedAt = time.Now()
		s.Logger.Error("ledger refused results for a fault that is not theirs; results stay pending for a retry",
			"game", result.Game, "match", result.Match, "all", h.isBurst(), "error", cause)
	}
	return h
}

// withoutHeld leaves out the results of games on hold, for a later sweep.
func (s *Service) withoutHeld(batch []match.Result) []match.Result {
	if len(s.holds) == 0 {
		return batch
	}
	now := time.Now()
	rest := slices.DeleteFunc(slices.Clone(batch), func(result match.Result) bool {
		hold := s.holds[result.Game]
		return hold != nil && now.Before(hold.retryAt)
	})
	s.metrics.countFailures(reasonHeld, len(batch)-len(rest))
	return rest
}

// releaseHolds ends the holds of games whose results the ledger accepted.
func (s *Service) releaseHolds(batch []match.Result) {
	if len(s.holds) == 0 {
		return
	}
	for _, result := range batch {
		if hold := s.holds[result.Game]; hold != nil && hold.isBurst() {
			s.Logger.Info("ledger accepts results of the game again", "game", result.Game)
		}
		delete(s.holds, result.Game)
	}
}
