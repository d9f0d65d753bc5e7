package match

import (
	"reflect"
	"testing"
)

// The flow of a duel, step by step.
func TestNextStep(t *testing.T) {
	t.Parallel()
	countdown := State{Phase: Countdown, Question: -1, DueAt: 5000, Alive: 2}
	open := State{Phase: Open, OpensAt: 5000, ClosesAt: 15_000, DueAt: 15_150, StartedAt: 5000, Alive: 2}
	sealed := open.with(func(s *State) { s.Phase, s.CloseReason, s.DueAt = Sealed, timeout, 15_150 })
	revealed := sealed.with(func(s *State) { s.Phase, s.DueAt = Revealed, 17_650 })
	for name, c := range map[string]struct {
		state State
		now   int64
		lost  int64
		want  *State // the state after the step, nil for none
	}{
		"countdown, early":                 {countdown, 4999, 0, nil},
		"countdown, due":                   {countdown, 5000, 0, &open},
		"a little late, it opened in time": {countdown, 5100, 0, &open},
		"too late, it opens now": {countdown, 5101, 0, open.to(func(s *State) {
			s.OpensAt, s.ClosesAt, s.DueAt, s.StartedAt = 5101, 15_101, 15_251, 5101
		})},
		"one answered, grace": {open.with(func(s *State) { s.Answered = 1 }), 15_149, 0, nil},
		"grace over":          {open, 15_150, 0, &sealed},
		"a little late":       {open, 16_149, 0, sealed.to(func(s *State) { s.DueAt = 16_149 })},
		"all answered": {open.with(func(s *State) { s.Answered = 2 }), 6000, 0, sealed.to(func(s *State) {
			s.CloseReason, s.DueAt, s.Answered = allAnswered, 6000, 2
		})},
		"late: the time is given back": {open, 16_150, 0, open.to(func(s *State) {
			s.Extended, s.ClosesAt, s.DueAt = true, 17_150, 17_300
		})},
		"late by more than the limit": {open, 95_150, 0, open.to(func(s *State) {
			s.Extended, s.ClosesAt, s.DueAt = true, 105_150, 105_300
		})},
		"out of reach within the question": {open, 15_150, 4000, open.to(func(s *State) {
			s.Extended, s.ClosesAt, s.DueAt = true, 19_150, 19_300
		})},
		"late, for the second time": {open.with(func(s *State) { s.Extended = true }), 18_150, 4000, sealed.to(func(s *State) {
			s.Extended, s.DueAt = true, 18_150
		})},
		"late, one has answered": {open.with(func(s *State) { s.Answered = 1 }), 18_150, 4000, sealed.to(func(s *State) {
			s.Answered, s.DueAt = 1, 18_150
		})},
		"sealed": {sealed, 15_151, 0, revealed.to(func(s *State) { s.DueAt = 17_651 })},
		"sealed by leaving": {sealed.with(func(s *State) { s.CloseReason, s.EndReason, s.Leaver = "forfeit", Forfeit, ada }), 7000, 0,
			sealed.to(func(s *State) {
				s.Phase, s.DueAt, s.CloseReason, s.EndReason, s.Leaver = Over, 0, "forfeit", Forfeit, ada
			})},
		"revealed, early": {revealed, 17_649, 0, nil},
		"revealed, next: nothing of the last one stays": {
			revealed.with(func(s *State) { s.Answered, s.Right, s.Extended, s.First = 2, 1, true, &First{} }), 17_650, 0,
			open.to(func(s *State) { s.Question, s.OpensAt, s.ClosesAt, s.DueAt = 1, 17_650, 27_650, 27_800 }),
		},
		"revealed, last": {revealed.with(func(s *State) { s.Question = 1 }), 17_650, 0,
			revealed.to(func(s *State) { s.Phase, s.Question, s.DueAt = Over, 1, 0 })},
		"over":    {State{Phase: Over, Question: 1, DueAt: 1}, 1 << 50, 0, nil},
		"settled": {State{Phase: Settled, Question: 1, DueAt: 1}, 1 << 50, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlan("m_1", 5000, 2)
			c.state.Version = 77
			s, due := nextStep(p, View{State: c.state}, c.now, c.lost)
			if due != (c.want != nil) {
				t.Fatalf("due: %v, to %+v", due, s.To)
			}
			if !due {
				return
			}
			c.want.Version = 77
			if !reflect.DeepEqual(s.To, *c.want) {
				t.Errorf("leads to\n%+v, want\n%+v", s.To, *c.want)
			}
			if s.From != c.state.Phase || s.Question != c.state.Question || s.Match != p.ID || s.Buzzer {
				t.Errorf("begins at %s of %d", s.From, s.Question)
			}
			if ends := c.want.Phase == Over; (s.Result != nil) != (ends && p.leavesResult(s.To)) || (s.KeepMS > 0) != ends {
				t.Errorf("result %v, kept for %d ms", s.Result, s.KeepMS)
			}
			byTime := c.state.Phase == Open && (c.want.Phase == Open || c.want.CloseReason == timeout)
			if (s.Version == 77) != byTime {
				t.Errorf("it is taken at version %d", s.Version)
			}
		})
	}
}

// with returns a changed copy of a state; to returns a pointer to it.
func (s State) with(change func(*State)) State {
	change(&s)
	return s
}

func (s State) to(change func(*State)) *State {
	change(&s)
	return &s
}

// In a duel some views decide the next step without records. In an arena none
// does, because players join and leave.
func TestDecidesNextStep(t *testing.T) {
	t.Parallel()
	duel, arena := newPlan("m_1", 0, 2), newArena(Survival, 2)
	for _, c := range []struct {
		state State
		want  bool
	}{
		{State{}, false},
		{State{Phase: Countdown, Question: -1}, true},
		{State{Phase: Open, Answered: 1, Alive: 2}, false},
		{State{Phase: Open, Answered: 2, Alive: 2}, true},
		{State{Phase: Sealed}, false},
		{State{Phase: Revealed}, true},
		{State{Phase: Revealed, Question: 1}, false},
	} {
		v := View{State: c.state}
		if v.decidesNextStep(duel) != c.want || v.decidesNextStep(arena) {
			t.Errorf("%+v: duel %v, arena %v", c.state, v.decidesNextStep(duel), v.decidesNextStep(arena))
		}
		if v.Records = map[string]Record{}; !v.decidesNextStep(arena) {
			t.Errorf("%+v: not enough with its records", c.state)
		}
	}
}

// If everyone in an arena has answered, the question is revealed without a
// seal, at exactly the version that was read. The step is marked as large in a
// large match.
func TestAllOfAnArenaHaveAnswered(t *testing.T) {
	t.Parallel()
	for _, players := range []int64{FullView, FullView + 1} {
		v := View{
			State:   State{Phase: Open, Question: 1, Answered: 3, Alive: 3, Right: 2, Players: players, LeftSeats: players - 3, Version: 77, DueAt: 15_150},
			Records: map[string]Record{}, Totals: map[string]Totals{},
		}
		s, due := nextStep(newArena(Survival, 3), v, 6000, 0)
		if !due || s.From != Open || s.Question != 1 || s.Version != 77 || s.To.Phase != Revealed || s.To.CloseReason != allAnswered || s.To.Alive != 2 {
			t.Errorf("%v, %+v", due, s)
		}
		if s.Large != (players > FullView) {
			t.Errorf("of %d players: many %v", players, s.Large)
		}
	}
}
