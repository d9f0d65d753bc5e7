package quiz

import (
	"cmp"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
)

// Kind says how a question is asked and answered.
type Kind string

// The kinds of the wire contract.
const (
	Single   Kind = "single"   // 2 to 6 choices, one right
	Boolean  Kind = "boolean"  // 2 choices, one right
	Multiple Kind = "multiple" // 2 to 8 choices, exactly the right set
	Number   Kind = "number"   // a number, within a tolerance
	Text     Kind = "text"     // up to MaxTextLen characters, compared folded
)

// kindRule says how questions of a kind are asked and answered.
type kindRule struct {
	field                  string // the JSON name of the field of a protocol.Given that answers it
	minChoices, maxChoices int    // 0: it has no choices
}

var kindRules = map[Kind]kindRule{
	Single:   {"choice", 2, 6},
	Boolean:  {"choice", 2, 2},
	Multiple: {"choices", 2, 8},
	Number:   {"value", 0, 0},
	Text:     {"value", 0, 0},
}

// Difficulty is one of three levels.
type Difficulty string

// The difficulties.
const (
	Easy   Difficulty = "easy"
	Medium Difficulty = "medium"
	Hard   Difficulty = "hard"
)

// Target is the right answer of a question of kind Number: any value within
// Tolerance of Value, both ends included.
type Target struct {
	Value     float64 `json:"value"`
	Tolerance float64 `json:"tolerance"`
}

// Question is one question of a bank. Kind determines which fields are set:
//
//   - the three kinds with choices: Choices, and Right with indexes into
//     Choices
//   - Number: Target
//   - Text: Accepted, whose first text is the one shown
//
// ValidationErrors returns violations of these rules. For an invalid question,
// DrawnQuestion.IsCorrect does not panic; it returns false for every answer.
type Question struct {
	ID           string     `json:"id"`
	Kind         Kind       `json:"kind"`
	Lang         string     `json:"lang"` // a BCP 47 tag: "en", "zh-CN"
	Category     string     `json:"category"`
	Difficulty   Difficulty `json:"difficulty"`
	Text         string     `json:"text"`
	Choices      []string   `json:"choices,omitempty"`
	RightIndexes []int      `json:"right,omitempty"` // indexes of the right choices
	Target       *Target    `json:"target,omitempty"`
	Accepted     []string   `json:"accepted,omitempty"` // texts that are right answers
	Explanation  string     `json:"explanation,omitempty"`
	Media        string     `json:"media,omitempty"` // a URL, shown with the question
	Source       string     `json:"source,omitempty"`
	Licence      string     `json:"licence,omitempty"`
}

// DrawnQuestion is a question as one match asks it: the question, and the match's
// order of its choices. The methods Choices, RightIndexes, Normalize and IsCorrect
// use the match's order. The field Question has the question's own order. A
// DrawnQuestion is small and may be copied.
//
// A drawn question and its bank share one Question. After ShareQuestion, so does
// a decoded one.
//
// The JSON form is a normal question with its choices in the match's order. It
// must be decoded into a zero DrawnQuestion, which then gets a new Question. If
// the JSON is null or has no field of a question, Question stays nil, and the
// caller must set it.
type DrawnQuestion struct {
	*Question
	order []int // by place in the match, the index of the choice in the question; nil: the question's own order
}

// Shuffle returns the question with its choices in a random order from rng. It
// also shuffles the choices true and false. Every order is equally likely. No other
// goroutine may use rng at the same time.
func (q *Question) Shuffle(rng *rand.Rand) DrawnQuestion {
	return q.InOrder(rng.Perm(len(q.Choices)))
}

// InOrder returns the question with its choices in an order: by place in the match, the
// index of the choice in the question. If the order does not fit, the result has the
// question's own order.
func (q *Question) InOrder(order []int) DrawnQuestion {
	if len(order) != len(q.Choices) || slices.ContainsFunc(order, func(index int) bool { return index >= len(q.Choices) }) {
		order = nil
	}
	return DrawnQuestion{Question: q, order: order}
}

// indexAt returns the index in the question of the choice at a place in the match.
func (d DrawnQuestion) indexAt(place int) int {
	if d.order == nil {
		return place
	}
	return d.order[place]
}

// Choices returns the choices in the order of the match.
func (d DrawnQuestion) Choices() []string {
	if d.Question.Choices == nil {
		return nil
	}
	choices := make([]string, len(d.Question.Choices))
	for place := range choices {
		choices[place] = d.Question.Choices[d.indexAt(place)]
	}
	return choices
}

// RightIndexes returns the ascending indexes of the right choices in the order of the
// match, which is the order of Choices.
func (d DrawnQuestion) RightIndexes() (right []int) {
	for place := range d.Question.Choices {
		if slices.Contains(d.Question.RightIndexes, d.indexAt(place)) {
			right = append(right, place)
		}
	}
	return right
}

// MarshalJSON encodes the question with the choices in the order of the match.
func (d DrawnQuestion) MarshalJSON() ([]byte, error) {
	if d.Question == nil {
		return json.Marshal(Question{})
	}
	q := *d.Question
	q.Choices, q.RightIndexes = d.Choices(), d.RightIndexes()
	return json.Marshal(&q)
}

// ShareQuestion replaces d.Question by an equal known question, so that the memory of the
// former one can be freed. The known question may have another order of choices;
// the order of the match stays. Share reports whether d now uses the known
// question. It can only replace the question of a d that was not shuffled, such
// as a decoded one.
func (d *DrawnQuestion) ShareQuestion(known *Question) bool {
	if d.Question == known || d.order != nil {
		return d.Question == known
	}
	original, order := d.Original()
	knownOriginal, knownOrder := DrawnQuestion{Question: known}.Original()
	if len(d.Question.RightIndexes) != len(known.RightIndexes) || !reflect.DeepEqual(original, knownOriginal) {
		return false
	}
	for place, index := range order {
		order[place] = slices.Index(knownOrder, index)
	}
	*d = DrawnQuestion{Question: known, order: order}
	return true
}

// Original returns the question with its choices in an order that does not depend on the
// match, and the order of the match: original.InOrder(order) asks the same. Stored questions
// have this form, so the order of the original must not change.
func (d DrawnQuestion) Original() (original Question, order []int) {
	choices, right := d.Choices(), d.RightIndexes()
	isRight := make([]int, len(choices)) // 1 for a right choice
	places := make([]int, len(choices))  // by index in the original
	for place := range choices {
		places[place] = place
		if slices.Contains(right, place) {
			isRight[place] = 1
		}
	}
	slices.SortStableFunc(places, func(a, b int) int {
		return cmp.Or(cmp.Compare(choices[a], choices[b]), cmp.Compare(isRight[a], isRight[b]))
	})
	original, order = *d.Question, make([]int, len(choices))
	original.Choices, original.RightIndexes = nil, nil
	for index, place := range places {
		original.Choices = append(original.Choices, choices[place])
		order[place] = index
		if isRight[place] == 1 {
			original.RightIndexes = append(original.RightIndexes, index)
		}
	}
	return original, order
}
