package bank

import (
	"fmt"

	"laststand/internal/quiz"
)

// The severities of a Finding. A question with an error must not be asked.
const (
	SeverityError   = "error"
	SeverityWarning = "warning"
)

// Finding is one problem in a bank.
type Finding struct {
	QuestionID string `json:"question"`
	Severity   string `json:"severity"`
	Text       string `json:"text"`
}

// Check returns all problems of a bank, in the order of its questions. Errors are
// invalid questions, repeated ids and repeated questions. Warnings are missing
// optional fields, and equal texts with different answers.
func Check(bank *Bank) []Finding {
	var findings []Finding
	add := func(q *quiz.Question, severity string, texts ...string) {
		for _, text := range texts {
			findings = append(findings, Finding{q.ID, severity, text})
		}
	}
	ids := make(map[string]struct{}, len(bank.Questions))
	texts := make(textIndex)
	for i := range bank.Questions {
		q := &bank.Questions[i]
		add(q, SeverityError, q.ValidationErrors()...)
		add(q, SeverityWarning, q.Warnings()...)
		if _, exists := ids[q.ID]; exists {
			add(q, SeverityError, "an earlier question has the same id")
		}
		ids[q.ID] = struct{}{}
		if earlierID, isConflict := texts.find(q); isConflict {
			add(q, SeverityWarning, fmt.Sprintf("%s has the same text with another answer", earlierID))
		} else if earlierID != "" {
			add(q, SeverityError, fmt.Sprintf("it is the same question as %s", earlierID))
		}
		texts.add(q)
	}
	return findings
}
