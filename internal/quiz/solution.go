package quiz

import "slices"

// Solution is the right answer as players see it after the question has closed.
// Its JSON form is one of
//
//	{"choice":1}
//	{"choices":[0,2]}                     ascending
//	{"value":1969,"tolerance":0}
//	{"value":"…","accepted":["…"]}        accepted contains the value too
type Solution struct {
	Choice    *int     `json:"choice,omitempty"`
	Choices   []int    `json:"choices,omitempty"`
	Value     any      `json:"value,omitempty"` // a float64 or a string
	Tolerance *float64 `json:"tolerance,omitempty"`
	Accepted  []string `json:"accepted,omitempty"`
}

// Solution returns the right answer. The caller may change the result. For a
// question without a right answer, the result is empty.
func (d DrawnQuestion) Solution() Solution {
	switch {
	case d.Kind == Multiple:
		return Solution{Choices: d.RightIndexes()}
	case d.Kind == Number && d.Target != nil:
		tolerance := d.Target.Tolerance
		return Solution{Value: d.Target.Value, Tolerance: &tolerance}
	case d.Kind == Text && len(d.Accepted) > 0:
		return Solution{Value: d.Accepted[0], Accepted: slices.Clone(d.Accepted)}
	case d.Kind == Single || d.Kind == Boolean:
		if right := d.RightIndexes(); len(right) == 1 {
			return Solution{Choice: &right[0]}
		}
	}
	return Solution{}
}
