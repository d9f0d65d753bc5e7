package quiz_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"laststand/internal/quiz"
)

func TestPickKeepsTheOrderAndSharesQuestions(t *testing.T) {
	t.Parallel()
	builtin, err := quiz.BuiltinBank()
	if err != nil {
		t.Fatal(err)
	}
	pool := quiz.NewPool(builtin)
	all := builtin.Questions
	ids := []string{all[3].ID, all[0].ID, all[7].ID}
	picked, err := pool.Pick(ids, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	for i, q := range picked {
		if q.ID != ids[i] {
			t.Errorf("question %d is %s, want %s", i, q.ID, ids[i])
		}
		if faults := q.ValidationErrors(); len(faults) > 0 {
			t.Errorf("%s: %v", q.ID, faults)
		}
	}
	if picked[0].Question != &all[3] {
		t.Error("Pick copied the question")
	}
}

func TestPickRefusesUnknownIDs(t *testing.T) {
	t.Parallel()
	if _, err := quiz.NewPool().Pick([]string{"q_none"}, rand.New(rand.NewPCG(1, 2))); !errors.Is(err, quiz.ErrUnknownID) {
		t.Errorf("Pick of an unknown id returned %v", err)
	}
}
