package checker

import "fmt"

// maxFullView is the largest match in which the server sends every result to every
// player.
const maxFullView = 50

// judgement compares one match with the rules.
type judgement struct {
	*match
	checker   *Checker
	firsts    map[string]int64 // by team: questions that a player of the team answered first
	lateMS    []int64          // see Summary
	isPartial bool             // some players are unknown
}

func (j *judgement) violation(format string, args ...any) {
	j.checker.Violations.Add("%s (%s): %s", j.id, j.log.found.Mode, fmt.Sprintf(format, args...))
}

// isUnsure reports whether something about a player is unknown.
func (j *judgement) isUnsure() bool {
	for _, t := range j.final {
		if t.isUnsure {
			return true
		}
	}
	return j.isPartial
}

// maxClockSkewMS is how far the clocks of two nodes may differ.
const maxClockSkewMS = 100
