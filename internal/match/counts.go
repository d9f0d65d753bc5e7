package match

import (
	"encoding/json"
	"fmt"
	"strings"

	"laststand/internal/protocol"
	"laststand/internal/quiz"
)

// maxTop is how many numbers or texts a reveal shows. A read returns more, because some may
// be refused.
const maxTop = 5

// CountedValues returns the values of an answer by its normal form: each choice of a question
// of kind multiple, else the normal form itself. See ValueCount.
func CountedValues(normalized string) []string {
	if list, isMultiple := strings.CutPrefix(normalized, "m:"); isMultiple {
		return strings.Split(list, ",")
	}
	return []string{normalized}
}

// choiceCounts returns how many players of an arena chose each choice, in the order shown;
// nil for a question without choices, or without answers.
func choiceCounts(question quiz.DrawnQuestion, view View) []int64 {
	choices := question.Choices()
	if len(choices) == 0 || len(view.Counts) == 0 || view.Answered == 0 {
		return nil
	}
	counts := make([]int64, len(choices))
	for i := range counts {
		for _, counted := range view.Counts {
			if counted.Value == fmt.Sprint("c:", i) || counted.Value == fmt.Sprint(i) {
				counts[i] = counted.N
			}
		}
	}
	return counts
}

// topValues returns the most frequent numbers or texts, the most frequent one first.
func topValues(question quiz.DrawnQuestion, view View) (top []protocol.ValueCount) {
	if len(question.Question.Choices) > 0 || view.Answered == 0 {
		return nil
	}
	for _, counted := range view.Counts[:min(len(view.Counts), maxTop)] {
		shown := protocol.ValueCount{N: counted.N}
		if text, isText := strings.CutPrefix(counted.Value, "t:"); isText {
			shown.Value = text
		} else {
			shown.Value = json.Number(strings.TrimPrefix(counted.Value, "n:"))
		}
		top = append(top, shown)
	}
	return top
}

// withoutRefused removes the texts that a game's players must not see.
func withoutRefused(counts []ValueCount, refuses func(text string) bool) []ValueCount {
	var allowed []ValueCount
	for _, counted := range counts {
		if text, isText := strings.CutPrefix(counted.Value, "t:"); !isText || !refuses(text) {
			allowed = append(allowed, counted)
		}
	}
	return allowed
}

// teamViews are the standings of the teams of a race.
func teamViews(plan *Plan, view View) []protocol.TeamStanding {
	if plan.Mode != Race {
		return nil
	}
	return teamStandings(teamResults(plan.Arena, view.Teams))
}

func teamStandings(teams []TeamResult) (shown []protocol.TeamStanding) {
	for _, t := range teams {
		shown = append(shown, protocol.TeamStanding{Rank: t.Rank, ID: t.ID, Score: t.Score})
	}
	return shown
}
