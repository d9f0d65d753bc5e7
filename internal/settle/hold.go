package settle

import (
	"errors"
	"slices"
	"time"

	"laststand/internal/match"
)

const (
	// maxInARow is how many results of a game the ledger may refuse, one after
	// another, before something else than these results is taken to be wrong.
	maxRefusedInRow = 3
	// logEvery is how often a game's refusals are logged.
	logInterval = time.Minute
)

// hold is a game of which the ledger refuses results.
type hold struct {
	refusedInRow map[matchKey]bool // refused since it took one; maxInARow+1 at the most
	wait         backoff
	retryAt      time.Time // no result of the game is tried before
	loggedAt     time.Time
}

// burst says whether so many results were refused that none of them is buried, and
// all of the game's results wait.
func (h *hold) isBurst() bool { return len(h.refusedInRow) > maxRefusedInRow }

// isBurst notes a refusal and says whether it is one of a burst. A result without
// standings never came to the ledger: it says nothing about the game's others.
func (s *Settler) isBurst(r match.Result, cause error) bool {
	return !errors.Is(cause, errIncomplete) && s.hold(r, cause).isBurst()
}

// hold notes a refusal. In a burst the game's results wait, longer each time.
func (s *Settler) hold(r match.Result, cause error) *hold {
	h := s.holds[r.Game]
	if h == nil {
		h = &hold{refusedInRow: map[matchKey]bool{}}
		s.holds[r.Game] = h
	}
	if !h.isBurst() {
		h.refusedInRow[keyOf(r)] = true
	}
	if h.isBurst() {
		h.retryAt = time.Now().Add(h.wait.next())
	}
	if (h.isBurst() || !s.isOwnFault(cause)) && time.Since(h.loggedAt) >= logInterval {
		h.loggedAt = time.Now()
		s.Logger.Error("ledger refused results for a fault that is not theirs; results stay pending for a retry",
			"game", r.Game, "match", r.Match, "all", h.isBurst(), "error", cause)
	}
	return h
}

// unheld leaves out the results of games on hold, for a later sweep.
func (s *Settler) withoutHeld(batch []match.Result) []match.Result {
	if len(s.holds) == 0 {
		return batch
	}
	now := time.Now()
	rest := slices.DeleteFunc(slices.Clone(batch), func(r match.Result) bool {
		h := s.holds[r.Game]
		return h != nil && now.Before(h.retryAt)
	})
	s.metrics.countFailures(reasonHeld, len(batch)-len(rest))
	return rest
}

// release ends the holds of games of which the ledger has taken results.
func (s *Settler) release(batch []match.Result) {
	if len(s.holds) == 0 {
		return
	}
	for _, r := range batch {
		if h := s.holds[r.Game]; h != nil && h.isBurst() {
			s.Logger.Info("ledger accepts results of the game again", "game", r.Game)
		}
		delete(s.holds, r.Game)
	}
}
