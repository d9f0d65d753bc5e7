package quiz

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
	field                  string // the JSON name of the field of an AnswerValue that answers it
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
