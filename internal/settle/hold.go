package settle

import (
	"log/slog"
	"time"

	"laststand/internal/match"
)

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
	wait         backoff
	retryAt      time.Time // zero: not on hold
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
		hold.retryAt = time.Now().Add(hold.wait.next())
	}
	if (isHeld || !isOwnFault) && time.Since(hold.loggedAt) >= logInterval {
		hold.loggedAt = time.Now()
		logger.Error("ledger refused results for a fault that is not theirs; results stay pending for a retry",
			"game", result.Game, "match", result.Match, "all", isHeld, "error", cause)
	}
	return isHeld
}
