package bank

import (
	"cmp"
	"slices"

	"laststand/internal/quiz"
)

// Bank is a named set of questions with distinct ids.
type Bank struct {
	Name      string
	Questions []quiz.Question
}

func sortByID(questions []quiz.Question) {
	slices.SortStableFunc(questions, func(a, b quiz.Question) int {
		return cmp.Compare(a.ID, b.ID)
	})
}
