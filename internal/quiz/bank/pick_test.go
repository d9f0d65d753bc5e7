package bank_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"laststand/internal/quiz"
	"laststand/internal/quiz/bank"
)

func TestPickKeepsTheOrderAndCopies(t *testing.T) {
	t.Parallel()
	builtin, err := bank.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	pool := bank.NewPool(builtin)
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
		if faults := q.Faults(); len(faults) > 0 {
			t.Errorf("%s: %v", q.ID, faults)
		}
	}
	picked[0].Text = "changed"
	if slices.ContainsFunc(all, func(q quiz.Question) bool { return q.Text == "changed" }) {
		t.Error("what was picked shares its texts with the bank")
	}
}

func TestPickRefusesWhatIsNotThere(t *testing.T) {
	t.Parallel()
	if _, err := bank.NewPool().Pick([]string{"q_none"}, rand.New(rand.NewPCG(1, 2))); !errors.Is(err, bank.ErrUnknown) {
		t.Errorf("picking what is not there gives %v", err)
	}
}
