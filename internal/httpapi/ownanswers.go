package httpapi

import (
	"encoding/json"

	"laststand/internal/answers"
	"laststand/internal/quiz"
)

// ownAnswers is the response with the answers of a player in a settled match.
type ownAnswers struct {
	Questions []ownAnswer `json:"questions"`
}

// ownAnswer is a revealed question and what the player answered.
type ownAnswer struct {
	Question    int             `json:"question"`
	Text        string          `json:"text"`
	Kind        quiz.Kind       `json:"kind"`
	Choices     []string        `json:"choices,omitempty"`
	Answer      quiz.Solution   `json:"answer"`
	Explanation string          `json:"explanation,omitempty"`
	Given       json.RawMessage `json:"given"`
	Correct     bool            `json:"correct"`
	ElapsedMS   *int64          `json:"elapsed_ms"` // nil: no answer
	Points      int64           `json:"points"`
}

func (h playerRoutes) getAnswers(r *request) (any, error) {
	claims, err := h.authenticatePlayer(r)
	if err != nil {
		return nil, err
	}
	m, err := h.Answers.Match(r.Context(), r.game, r.PathValue("match"))
	if err != nil {
		return nil, err
	}
	given, err := h.Answers.Of(r.Context(), m, claims.Subject)
	if err != nil {
		return nil, err
	}
	return newOwnAnswers(m.Questions, given), nil
}

// newOwnAnswers returns all revealed questions with the answers that count.
func newOwnAnswers(questions []quiz.DrawnQuestion, given []answers.Answer) ownAnswers {
	view := ownAnswers{make([]ownAnswer, len(questions))}
	for i, q := range questions {
		view.Questions[i] = ownAnswer{
			Question: i, Text: q.Text, Kind: q.Kind, Choices: q.Choices(), Answer: q.Solution(), Explanation: q.Explanation, Given: json.RawMessage("null"),
		}
	}
	for _, a := range given {
		if a.Retracted || a.Question >= len(questions) {
			continue
		}
		own := &view.Questions[a.Question]
		own.Correct, own.ElapsedMS, own.Points = a.Correct, &a.ElapsedMS, a.Points
		if a.Given != nil {
			own.Given = a.Given
		}
	}
	return view
}
