package checker

import (
	"encoding/json"
	"slices"

	"laststand/internal/protocol"
)

// points returns the points of a verdict, by the scoring that the match told. t is the
// player before the answer.
func (v verdict) points(t *totals, found protocol.MatchFound, r *round) int64 {
	if !v.isAccepted || v.isUnsure {
		return 0
	}
	scoring := found.Scoring
	if found.Mode != "race" { // these modes have no choice
		scoring = protocol.Scoring{Preset: "speed", Points: 100}
	}
	if found.Mode == "buzzer" {
		scoring.Preset = "accuracy"
	}
	full := scoring.Points
	if limit := r.limitMS(); scoring.Preset == "speed" {
		full += scoring.Points * (limit - min(v.elapsedMS, limit)) / limit
	}
	factor := int64(1)
	if found.Mode == "race" {
		factor = r.asked.Points
	}
	if v.isCorrect {
		return factor * (full + scoring.Streak*min(t.rightInRow, 5))
	}
	if scoring.Partial {
		if part := full * r.right.net(v.given) / int64(max(len(r.right.Choices), 1)); part > 0 {
			return factor * part
		}
	}
	return -min(factor*scoring.Penalty, t.Score)
}

// net returns how many more right choices than wrong ones an answer has; 0 for other kinds.
func (r CorrectAnswer) net(given json.RawMessage) (net int64) {
	var g protocol.Given
	_ = json.Unmarshal(given, &g) // the server accepted it
	for _, choice := range g.Choices {
		if slices.Contains(r.Choices, choice) {
			net++
		} else {
			net--
		}
	}
	return max(net, 0)
}

// checkChoices checks how many players chose each choice.
func (j *judgement) checkChoices(r *round, verdicts map[string]verdict) {
	want := make([]int64, len(r.asked.Choices))
	answered := false
	for _, v := range verdicts {
		var g protocol.Given
		_ = json.Unmarshal(v.given, &g) // the server accepted it; nothing for no answer
		if g.Choice != nil {
			g.Choices = []int{*g.Choice}
		}
		for _, choice := range g.Choices {
			want[choice]++
		}
		answered = answered || v.isAccepted
	}
	if !answered {
		want = nil
	}
	if len(r.asked.Choices) > 0 && !slices.Equal(r.closed.Counts, want) {
		j.violation("question %d: its choices were made %d times, and its close says %d", r.asked.Question, want, r.closed.Counts)
	}
}
