package checker

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"laststand/internal/protocol"
)

// Sums are a player's totals, as leaderboards and profiles show them.
type Sums struct {
	Score    int64 `json:"score"`
	TimeMS   int64 `json:"time_ms"`
	Matches  int   `json:"matches"`
	Asked    int   `json:"asked"`
	Answered int   `json:"answered"`
	Correct  int   `json:"correct"`
}

func (s *Sums) add(o Sums) {
	s.Score += o.Score
	s.TimeMS += o.TimeMS
	s.Matches += o.Matches
	s.Asked += o.Asked
	s.Answered += o.Answered
	s.Correct += o.Correct
}

// totals are what a player has reached in a match.
type totals struct {
	Sums
	player     string
	lastRight  int   // the last question that the player answered right, -1 for none
	rightInRow int64 // right answers in a row up to the last question
	isOut      bool
	isUnsure   bool           // a verdict is unknown
	rank       int            // at the end
	answers    map[int]result // by question; nil unless Checker.KeepAnswers
}

// standing returns the standing that the server must show. Values that the totals do not
// contain, such as ratings, are copied from shown.
func (t *totals) standing(shown protocol.OverStanding) protocol.OverStanding {
	shown.Rank, shown.Player, shown.Score, shown.TimeMS = t.rank, t.player, t.Score, t.TimeMS
	shown.Correct, shown.Answered, shown.Asked = t.Correct, t.Answered, t.Asked
	return shown
}

// compareBy returns the comparison of a mode: the leading player comes first.
func compareBy(mode string) func(a, b *totals) int {
	return func(a, b *totals) int {
		leads := cmp.Compare(b.Score, a.Score)
		if mode == "survival" {
			leads = cmp.Compare(b.lastRight, a.lastRight)
		}
		return cmp.Or(leads, cmp.Compare(a.TimeMS, b.TimeMS))
	}
}

// rank ranks all players from 1; equals share a rank. If anything about one player is
// unknown, the ranks of all are.
func rank(mode string, all map[string]*totals) {
	var sorted []*totals
	isUnsure := false
	for _, t := range all {
		sorted = append(sorted, t)
		isUnsure = isUnsure || t.isUnsure
	}
	compare := compareBy(mode)
	slices.SortFunc(sorted, compare)
	for i, t := range sorted {
		t.rank, t.isUnsure = i+1, isUnsure
		if i > 0 && compare(sorted[i-1], t) == 0 {
			t.rank = sorted[i-1].rank
		}
	}
}

// CorrectAnswer is the `answer` of a closed question of any kind.
type CorrectAnswer struct {
	Choice    *int            `json:"choice"`
	Choices   []int           `json:"choices"`
	Value     json.RawMessage `json:"value"`
	Tolerance float64         `json:"tolerance"`
	Accepted  []string        `json:"accepted"`
}

// DecodeCorrectAnswer decodes a correct answer.
func DecodeCorrectAnswer(correct any) (r CorrectAnswer) {
	raw, _ := json.Marshal(correct) // it came from JSON
	_ = json.Unmarshal(raw, &r)     // a missing field counts as wrong
	return r
}

// Indexes returns the right choices.
func (r CorrectAnswer) Indexes() []int {
	if r.Choice != nil {
		return []int{*r.Choice}
	}
	return r.Choices
}

// IsCorrect reports whether an answer is right.
func (r CorrectAnswer) IsCorrect(given json.RawMessage) bool {
	g := decodeGiven(given)
	if g.Choice != nil {
		return r.Choice != nil && *g.Choice == *r.Choice
	}
	if len(g.Choices) > 0 {
		return slices.Equal(slices.Sorted(slices.Values(g.Choices)), slices.Sorted(slices.Values(r.Choices)))
	}
	var number, right float64
	if json.Unmarshal(g.Value, &number) == nil && json.Unmarshal(r.Value, &right) == nil {
		return number >= right-r.Tolerance && number <= right+r.Tolerance
	}
	var text, best string
	if json.Unmarshal(g.Value, &text) != nil || json.Unmarshal(r.Value, &best) != nil {
		return false
	}
	return slices.ContainsFunc(append(r.Accepted, best), func(one string) bool { return strings.EqualFold(one, text) })
}
