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
