package quiz

import "slices"

// Solution is the right answer as players see it once the question is closed.
// As JSON it is one of
//
//	{"choice":1}
//	{"choices":[0,2]}                     ascending
//	{"value":1969,"tolerance":0}
//	{"value":"…","accepted":["…"]}        accepted holds the value too
type Solution struct {
	Choice    *int     `json:"choice,omitempty"`
	Choices   []int    `json:"choices,omitempty"`
	Value     any      `json:"value,omitempty"` // a float64 or a string
	Tolerance *float64 `json:"tolerance,omitempty"`
	Accepted  []string `json:"accepted,omitempty"`
}

// Solution returns the right answer, sharing nothing with the question. A
// question without one has the empty solution.
func (q *Question) Solution() Solution {
	switch {
	case q.Kind == Multiple:
		return Solution{Choices: slices.Sorted(slices.Values(q.Right))}
	case q.Kind == Number && q.Target != nil:
		tolerance := q.Target.Tolerance
		return Solution{Value: q.Target.Value, Tolerance: &tolerance}
	case q.Kind == Text && len(q.Accepted) > 0:
		return Solution{Value: q.Accepted[0], Accepted: slices.Clone(q.Accepted)}
	case (q.Kind == Single || q.Kind == Boolean) && len(q.Right) == 1:
		choice := q.Right[0]
		return Solution{Choice: &choice}
	}
	return Solution{}
}
