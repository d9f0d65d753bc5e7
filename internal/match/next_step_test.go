package match

import (
	"reflect"
	"testing"
)

// The flow of a duel, step by step.
func TestNextStepOfDuel(t *testing.T) {
	t.Parallel()
	countdown := State{Phase: PhaseCountdown, Question: -1, DueAt: 5000, Alive: 2}
	open := State{Phase: PhaseOpen, OpensAt: 5000, ClosesAt: 15_000, DueAt: 15_150, StartedAt: 5000, Alive: 2}
	sealed := open.changedCopy(func(step *State) { step.Phase, step.CloseReason, step.DueAt = PhaseSealed, closeReasonTimeout, 15_150 })
	revealed := sealed.changedCopy(func(step *State) { step.Phase, step.DueAt = PhaseRevealed, 17_650 })
	for name, testCase := range map[string]struct {
		state  State
		now    int64
		lostMS int64
		want   *State // the state after the step, nil for none
	}{
		"countdown, early":               {countdown, 4999, 0, nil},
		"countdown, due":                 {countdown, 5000, 0, &open},
		"100 ms late: opens at its time": {countdown, 5100, 0, &open},
		"101 ms late: opens now": {countdown, 5101, 0, open.changedCopyPointer(func(step *State) {
			step.OpensAt, step.ClosesAt, step.DueAt, step.StartedAt = 5101, 15_101, 15_251, 5101
		})},
		"one answered, in the grace period": {open.changedCopy(func(step *State) { step.Answered = 1 }), 15_149, 0, nil},
		"grace period over":                 {open, 15_150, 0, &revealed},
		"999 ms late: not extended":         {open, 16_149, 0, revealed.changedCopyPointer(func(step *State) { step.DueAt = 18_649 })},
		"all answered": {open.changedCopy(func(step *State) { step.Answered = 2 }), 6000, 0, revealed.changedCopyPointer(func(step *State) {
			step.CloseReason, step.DueAt, step.Answered = closeReasonAllAnswered, 8500, 2
		})},
		"a second late: the question is extended": {open, 16_150, 0, open.changedCopyPointer(func(step *State) {
			step.Extended, step.ClosesAt, step.DueAt = true, 17_150, 17_300
		})},
		"late by more than the limit: extended once by the limit": {open, 95_150, 0, open.changedCopyPointer(func(step *State) {
			step.Extended, step.ClosesAt, step.DueAt = true, 105_150, 105_300
		})},
		"store unreachable during the question: extended": {open, 15_150, 4000, open.changedCopyPointer(func(step *State) {
			step.Extended, step.ClosesAt, step.DueAt = true, 19_150, 19_300
		})},
		"late again: not extended twice": {open.changedCopy(func(step *State) { step.Extended = true }), 18_150, 4000, revealed.changedCopyPointer(func(step *State) {
			step.Extended, step.DueAt = true, 20_650
		})},
		"late, one has answered: not extended": {open.changedCopy(func(step *State) { step.Answered = 1 }), 18_150, 4000, revealed.changedCopyPointer(func(step *State) {
			step.Answered, step.DueAt = 1, 20_650
		})},
		"sealed": {sealed, 15_151, 0, revealed.changedCopyPointer(func(step *State) { step.DueAt = 17_651 })},
		"sealed by a forfeit": {sealed.changedCopy(func(step *State) { step.CloseReason, step.EndReason, step.Leaver = "forfeit", ReasonForfeit, ada }), 7000, 0,
			sealed.changedCopyPointer(func(step *State) {
				step.Phase, step.DueAt, step.CloseReason, step.EndReason, step.Leaver = PhaseOver, 0, "forfeit", ReasonForfeit, ada
			})},
		"revealed, early": {revealed, 17_649, 0, nil},
		"revealed, next question: counters start at zero": {
			revealed.changedCopy(func(step *State) { step.Answered, step.Right, step.Extended, step.First = 2, 1, true, &First{} }), 17_650, 0,
			open.changedCopyPointer(func(step *State) { step.Question, step.OpensAt, step.ClosesAt, step.DueAt = 1, 17_650, 27_650, 27_800 }),
		},
		"revealed, last": {revealed.changedCopy(func(step *State) { step.Question = 1 }), 17_650, 0,
			revealed.changedCopyPointer(func(step *State) { step.Phase, step.Question, step.DueAt = PhaseOver, 1, 0 })},
		"over":    {State{Phase: PhaseOver, Question: 1, DueAt: 1}, 1 << 50, 0, nil},
		"settled": {State{Phase: PhaseSettled, Question: 1, DueAt: 1}, 1 << 50, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := newPlan("m_1", 5000, 2)
			testCase.state.Version = 77
			step, due := nextStep(plan, View{State: testCase.state}, testCase.now, testCase.lostMS)
			if due != (testCase.want != nil) {
				t.Fatalf("due: %v, to %+v", due, step.NewState)
			}
			if !due {
				return
			}
			testCase.want.Version = 77
			if !reflect.DeepEqual(step.NewState, *testCase.want) {
				t.Errorf("leads to\n%+v, want\n%+v", step.NewState, *testCase.want)
			}
			if step.From.Phase != testCase.state.Phase || step.From.Question != testCase.state.Question || step.Match != plan.ID || step.Mode != plan.Mode {
				t.Errorf("starts from %s of question %d", step.From.Phase, step.From.Question)
			}
			if ends := testCase.want.Phase == PhaseOver; (step.Result != nil) != (ends && plan.leavesResult(step.NewState)) || (step.TTLMS > 0) != ends {
				t.Errorf("result %v, kept for %d ms", step.Result, step.TTLMS)
			}
			decidedByTime := testCase.state.Phase == PhaseOpen && (testCase.want.Phase == PhaseOpen || testCase.want.CloseReason == closeReasonTimeout)
			if (step.Version == 77) != decidedByTime {
				t.Errorf("the step requires version %d", step.Version)
			}
		})
	}
}

// changedCopy returns a changed copy of a state; changedCopyPointer returns a
// pointer to one.
func (s State) changedCopy(change func(*State)) State {
	change(&s)
	return s
}

func (s State) changedCopyPointer(change func(*State)) *State {
	change(&s)
	return &s
}

// In a duel some views decide the next step without records. In an arena none
// does, because players join and leave.
func TestSufficesForNextStep(t *testing.T) {
	t.Parallel()
	duel, arena := newPlan("m_1", 0, 2), newArena(Survival, 2)
	for _, testCase := range []struct {
		state State
		want  bool
	}{
		{State{}, false},
		{State{Phase: PhaseCountdown, Question: -1}, true},
		{State{Phase: PhaseOpen, Answered: 1, Alive: 2}, false},
		{State{Phase: PhaseOpen, Answered: 2, Alive: 2}, false},
		{State{Phase: PhaseSealed}, false},
		{State{Phase: PhaseRevealed}, true},
		{State{Phase: PhaseRevealed, Question: 1}, false},
	} {
		view := View{State: testCase.state}
		if view.sufficesForNextStep(duel) != testCase.want || view.sufficesForNextStep(arena) {
			t.Errorf("%+v: duel %v, arena %v", testCase.state, view.sufficesForNextStep(duel), view.sufficesForNextStep(arena))
		}
		if view.Records = map[string]Record{}; !view.sufficesForNextStep(arena) {
			t.Errorf("%+v: does not suffice with its records", testCase.state)
		}
	}
}

// If everyone in an arena has answered, the question is revealed at exactly the version
// that was read. The step is marked as large in a
// large match.
func TestFullyAnsweredArenaQuestionIsRevealed(t *testing.T) {
	t.Parallel()
	for _, players := range []int64{FullListPlayers, FullListPlayers + 1} {
		view := View{
			State:   State{Phase: PhaseOpen, Question: 1, Answered: 3, Alive: 3, Right: 2, Players: players, LeftSeats: players - 3, Version: 77, DueAt: 15_150},
			Records: map[string]Record{}, Totals: map[string]Totals{},
		}
		step, due := nextStep(newArena(Survival, 3), view, 6000, 0)
		if !due || step.From.Phase != PhaseOpen || step.From.Question != 1 || step.Version != 77 || step.NewState.Phase != PhaseRevealed || step.NewState.CloseReason != closeReasonAllAnswered || step.NewState.Alive != 2 {
			t.Errorf("%v, %+v", due, step)
		}
		if step.Large != (players > FullListPlayers) {
			t.Errorf("%d players: marked as large: %v", players, step.Large)
		}
	}
}
