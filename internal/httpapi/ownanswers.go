package httpapi

import (
	"encoding/json"
	"slices"

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
	Void        bool            `json:"void,omitempty"` // the question was made void after the match
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
	m, err := h.awaitAnswers(r, r.PathValue("match"))
	if err != nil {
		return nil, err
	}
	given, err := h.Answers.Of(r.Context(), m, claims.Subject)
	if err != nil {
		return nil, err
	}
	return newOwnAnswers(m, given), nil
}

// newOwnAnswers returns all revealed questions with the answers that count.
func newOwnAnswers(m answers.Match, given []answers.Answer) ownAnswers {
	view := ownAnswers{make([]ownAnswer, len(m.Questions))}
	for i, q := range m.Questions {
		view.Questions[i] = ownAnswer{
			Question: i, Text: q.Text, Kind: q.Kind, Choices: q.Choices(), Answer: q.Solution(), Explanation: q.Explanation, Given: json.RawMessage("null"),
			Void: slices.Contains(m.Summary.Voided, i),
		}
	}
	for _, a := range given {
		if a.Retracted || a.Question >= len(m.Questions) {
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
