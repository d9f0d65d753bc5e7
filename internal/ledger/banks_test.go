package ledger

import (
	"errors"
	"maps"
	"reflect"
	"testing"

	"laststand/internal/quiz"
	"laststand/internal/testenv"
)

func TestBanksAreSavedLoadedAndDeleted(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		a := quiz.Question{ID: "a", Kind: quiz.Single, Lang: "zh-CN", Text: "哪一个?", Choices: []string{"甲", "乙"}, RightIndexes: []int{1}}
		b := quiz.Question{ID: "b", Kind: quiz.Number, Text: "How many?", Target: &quiz.Target{Value: 1.5, Tolerance: 0.25}}
		changed := a
		changed.Text = "改了"

		save := func(name string, questions ...quiz.Question) {
			t.Helper()
			before := testenv.Need(l.Banks.BankRevision(t.Context()))(t)
			testenv.NoError(t, l.Banks.SaveBank(t.Context(), name, questions))
			if after := testenv.Need(l.Banks.BankRevision(t.Context()))(t); after <= before {
				t.Errorf("revision %d, before %d", after, before)
			}
		}
		save("one", b, a)
		save("two", a)
		save("one", a, changed) // the last question of an id counts
		save("empty")
		for name, want := range map[string][]quiz.Question{"one": {changed, b}, "two": {a}, "empty": nil} {
			if got := testenv.Need(l.Banks.LoadBank(t.Context(), name))(t); !reflect.DeepEqual(got, want) {
				t.Errorf("bank %s: %+v, want %+v", name, got, want)
			}
		}
		if got := testenv.Need(l.Banks.Banks(t.Context()))(t); !maps.Equal(got, map[string]int{"one": 2, "two": 1, "empty": 0}) {
			t.Errorf("banks %v", got)
		}
		if _, err := l.Banks.LoadBank(t.Context(), "none"); !errors.Is(err, quiz.ErrNoBank) {
			t.Errorf("an unknown bank: %v", err)
		}
	})
}

// Two processes save the same questions in opposite orders at the same time. They do not
// deadlock.
func TestConcurrentSavesOfBanksDoNotDeadlock(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		processes := []*Ledger{openLedger(t, db), openLedger(t, db)}
		orders := [][]quiz.Question{{{ID: "a"}, {ID: "b"}}, {{ID: "b"}, {ID: "a"}}}
		runConcurrently(10, func(i int) {
			if err := processes[i%2].Banks.SaveBank(t.Context(), "bank", orders[i%2]); err != nil {
				t.Error(err)
			}
		})
		if n := testenv.Need(processes[0].Banks.BankRevision(t.Context()))(t); n != 10 {
			t.Errorf("revision %d after 10 changes", n)
		}
	})
}
