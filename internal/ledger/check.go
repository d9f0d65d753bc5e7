package ledger

import (
	"fmt"
	"iter"
	"strings"

	"laststand/internal/match"
)

// maxIDBytes is the greatest length of an id in the wire contract, in bytes.
const maxIDBytes = 64

// checkResult returns an error that wraps ErrBadResult if a result would make the
// ledger's sums wrong or break its keys.
func checkResult(r *match.Result) error {
	if isInvalidID(r.Match) || isInvalidID(r.Game) {
		return fmt.Errorf("%w: match %q of game %q: ids are 1 to %d of A-Z a-z 0-9 _ . : -", ErrBadResult, r.Match, r.Game, maxIDBytes)
	}
	if !r.IsComplete() {
		return fmt.Errorf("%w: match %s: its standings are not loaded; read them first", ErrBadResult, r.Match)
	}
	if err := checkTeams(r); err != nil {
		return err
	}
	players := make(map[string]bool, len(r.Standings))
	rated := r.IsRated()
	for s := range humanStandings(r) {
		if isInvalidID(s.Player) || players[s.Player] {
			return fmt.Errorf("%w: match %s: player %q is listed twice or has an invalid id", ErrBadResult, r.Match, s.Player)
		}
		players[s.Player] = true
		if s.Score < 0 || s.TimeMS < 0 || s.LimitMS < 0 || s.Asked < 0 || s.Answered < 0 || s.Correct < 0 {
			return fmt.Errorf("%w: match %s: player %q has a negative value", ErrBadResult, r.Match, s.Player)
		}
		if s.Rating != nil && !rated {
			return fmt.Errorf("%w: match %s: player %q has a rating; either both players of a duel have one, or neither", ErrBadResult, r.Match, s.Player)
		}
	}
	return nil
}

func checkTeams(r *match.Result) error {
	seen := make(map[string]bool, len(r.Teams))
	for _, t := range r.Teams {
		if isInvalidID(t.ID) || seen[t.ID] || t.Score < 0 {
			return fmt.Errorf("%w: match %s: team %q is listed twice, has an invalid id or has a negative score", ErrBadResult, r.Match, t.ID)
		}
		seen[t.ID] = true
	}
	return nil
}

func isInvalidID(id string) bool {
	return id == "" || len(id) > maxIDBytes || strings.ContainsFunc(id, func(c rune) bool {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		return !letter && (c < '0' || c > '9') && !strings.ContainsRune("_.:-", c)
	})
}

// humanStandings iterates over the standings of a result, without bots.
func humanStandings(r *match.Result) iter.Seq[*match.Standing] {
	return func(yield func(*match.Standing) bool) {
		for i := range r.Standings {
			if s := &r.Standings[i]; !s.Bot && !yield(s) {
				return
			}
		}
	}
}
