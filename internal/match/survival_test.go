package match

import (
	"slices"
	"testing"
)

func TestSurvivalCloseCountsSurvivors(t *testing.T) {
	t.Parallel()
	for name, testCase := range map[string]struct {
		right, alive    int64
		wantAlive       int64
		wantLastDecided int
		wantVoids       []int
	}{
		"some are out":    {right: 3, alive: 5, wantAlive: 3, wantLastDecided: 4, wantVoids: []int{1}},
		"all survive":     {right: 5, alive: 5, wantAlive: 5, wantLastDecided: 4, wantVoids: []int{1}},
		"nobody survives": {right: 0, alive: 5, wantAlive: 5, wantLastDecided: 2, wantVoids: []int{1, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			voids := append(make([]int, 0, 8), 1)
			view := View{State: State{Phase: PhaseSealed, Question: 4, LastDecided: 2, Voids: voids, Right: testCase.right, Alive: testCase.alive}}
			step, _ := nextStep(newArena(Survival, 9), view, 7000, 0)
			if step.NewState.Alive != testCase.wantAlive || step.NewState.LastDecided != testCase.wantLastDecided || !slices.Equal(step.NewState.Voids, testCase.wantVoids) {
				t.Errorf("%+v", step.NewState)
			}
			if voids = voids[:2]; voids[1] != 0 {
				t.Error("the view it was decided by has changed")
			}
		})
	}
}

// Elimination follows from two numbers: the last question that the player
// answered right and the last one with a survivor.
func TestEliminationFollowsFromTotals(t *testing.T) {
	t.Parallel()
	view := View{State: State{Question: 4, LastDecided: 2, Voids: []int{1, 3}}}
	for name, testCase := range map[string]struct {
		totals          Totals
		out             bool
		asked, answered int
	}{
		"right in all that were not void":      {Totals{Correct: 2, Answered: 4, LastCorrect: 3, LastAnswered: 4}, false, 2, 2},
		"also right in the open question":      {Totals{Correct: 3, Answered: 5, LastCorrect: 5, LastAnswered: 5}, false, 3, 3},
		"wrong in the last that was not void":  {Totals{Correct: 1, Answered: 3, LastCorrect: 1, LastAnswered: 3}, true, 2, 2},
		"silent in the last that was not void": {Totals{Correct: 1, Answered: 1, LastCorrect: 1, LastAnswered: 1}, true, 2, 1},
		"silent, after a wrong one in a void":  {Totals{Correct: 1, Answered: 2, LastCorrect: 1, LastAnswered: 2}, true, 2, 1},
		"wrong in the first":                   {Totals{Answered: 1, LastAnswered: 1}, true, 1, 1},
		"never answered":                       {Totals{}, true, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, asked, answered := view.isEliminated(testCase.totals), view.askedCount(testCase.totals), view.answeredCount(testCase.totals)
			if out != testCase.out || asked != testCase.asked || answered != testCase.answered {
				t.Errorf("out %v, asked %d, answered %d", out, asked, answered)
			}
		})
	}
}

func TestNobodyIsOutBeforeTheFirstClose(t *testing.T) {
	t.Parallel()
	for _, question := range []int{-1, 0} {
		view := View{State: State{Question: question, LastDecided: -1}}
		for _, totals := range []Totals{{}, {Answered: 1, LastAnswered: 1}, {Answered: 1, Correct: 1, LastCorrect: 1, LastAnswered: 1}} {
			if view.isEliminated(totals) {
				t.Errorf("question %d: %+v is out", question, totals)
			}
		}
	}
}

// Rank is the last question survived, then the time.
func TestSurvivalRanks(t *testing.T) {
	t.Parallel()
	plan := newArena(Survival, 3)
	view := View{
		State: State{Phase: PhaseRevealed, Question: 2, LastDecided: 2, StartedAt: 1, Players: 5},
		Totals: map[string]Totals{
			"p_000": {Score: 150, Correct: 1, Answered: 2, SavedMS: 5000, LastCorrect: 1, LastAnswered: 2},
			"p_001": {Score: 450, Correct: 3, Answered: 3, SavedMS: 15_000, LastCorrect: 3, LastAnswered: 3},
			"p_002": {Score: 190, Correct: 1, Answered: 1, SavedMS: 9000, LastCorrect: 1, LastAnswered: 1},
			"p_003": {Score: 450, Correct: 3, Answered: 3, SavedMS: 15_001, LastCorrect: 3, LastAnswered: 3},
			"p_004": {Answered: 1, LastAnswered: 1},
		},
	}
	for i := range 5 {
		view.Seats = append(view.Seats, plan.arenaSeat(i))
	}
	result := newResult(plan, view, 9)
	for i, want := range []Standing{
		{Player: "p_003", Rank: 1, Asked: 3, Answered: 3, TimeMS: 14_999},
		{Player: "p_001", Rank: 2, Asked: 3, Answered: 3, TimeMS: 15_000},
		{Player: "p_002", Rank: 3, Asked: 2, Answered: 1, TimeMS: 11_000},
		{Player: "p_000", Rank: 4, Asked: 2, Answered: 2, TimeMS: 15_000},
		{Player: "p_004", Rank: 5, Asked: 1, Answered: 1, TimeMS: 10_000},
	} {
		got := result.Standings[i]
		if got.Player != want.Player || got.Rank != want.Rank || got.Asked != want.Asked || got.Answered != want.Answered || got.TimeMS != want.TimeMS {
			t.Errorf("place %d: %+v, want %+v", i, got, want)
		}
	}
	if result.Winner != "p_003" || result.Questions != 3 {
		t.Errorf("%+v", result)
	}
}
