package match

import "testing"

// The open question does not count: neither its answers nor the time of missing
// answers.
func TestLeave(t *testing.T) {
	t.Parallel()
	totals := map[string]Totals{ada: {Score: 350, Correct: 2, Answered: 2, SavedMS: 15_000}, bob: {Score: 150, Correct: 1, Answered: 2, SavedMS: 5000}}
	records := map[string]Record{ada: {Player: ada, Question: 1, Correct: true, Points: 150, SavedMS: 5000}}
	for name, c := range map[string]struct {
		state State
		want  Phase // reason of the first step, "" if another step must come first
		asked int
		score int64 // ada's
		time  int64 // ada's
	}{
		"countdown": {State{Phase: Countdown, Question: -1}, Over, 0, 0, 0},
		"first":     {State{Phase: Open, Question: 0, StartedAt: 5}, Sealed, 0, 0, 0},
		"open":      {State{Phase: Open, Question: 1, StartedAt: 5}, Sealed, 1, 200, 0},
		"sealed":    {State{Phase: Sealed, Question: 1, CloseReason: timeout}, "", 0, 0, 0},
		"revealed":  {State{Phase: Revealed, Question: 1, CloseReason: timeout, StartedAt: 5}, Over, 2, 350, 5000},
		"over":      {State{Phase: Over, Question: 1}, "", 0, 0, 0},
		"settled":   {State{Phase: Settled, Question: 1}, "", 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlan("m_1", 5000, 3)
			v := View{State: c.state, Totals: totals, Records: records}
			s, ok := forfeitStep(p, v, ada, 9000)
			if ok != (c.want != "") || s.To.Phase != c.want {
				t.Fatalf("%v, to %q, want %q", ok, s.To.Phase, c.want)
			}
			if !ok {
				return
			}
			if s.To.Phase == Sealed {
				if s.Result != nil || s.To.CloseReason != "forfeit" || s.To.DueAt != 9000 {
					t.Fatalf("%+v", s)
				}
				v.State = s.To
				if s, ok = nextStep(p, v, 9000, 0); !ok || s.To.Phase != Over {
					t.Fatalf("then %v, to %q", ok, s.To.Phase)
				}
			}
			r := s.Result
			if c.asked == 0 {
				if r != nil || len(s.Pushes) != 1 {
					t.Errorf("a duel without a closed question leaves %+v, and %d pushes", r, len(s.Pushes))
				}
				return
			}
			if r.Winner != bob || r.Reason != Forfeit || r.Questions != c.asked || r.StartedAt == 0 {
				t.Errorf("%+v", r)
			}
			loser := r.Standings[1]
			if loser.Player != ada || loser.Score != c.score || loser.TimeMS != c.time || loser.Asked != c.asked {
				t.Errorf("%+v", loser)
			}
			if keeps := r.Standings[0]; keeps.Player != bob || keeps.Score != 150 {
				t.Errorf("the other keeps %+v", keeps)
			}
		})
	}
}

func TestLeavingAfterTheLastRevealForfeitsNothing(t *testing.T) {
	t.Parallel()
	p := newPlan("m_1", 5000, 1)
	v := View{State: State{Phase: Revealed, DueAt: 9000, StartedAt: 5000}, Totals: map[string]Totals{ada: {Score: 150, Correct: 1, Answered: 1}}}
	s, ok := forfeitStep(p, v, ada, 8000)
	if !ok || s.Result == nil || s.Result.Reason != Finished || s.Result.Winner != ada {
		t.Fatalf("%v, %+v; want ada's victory to stand", ok, s.Result)
	}
}

// An arena continues without a player who leaves.
func TestNobodyForfeitsAnArena(t *testing.T) {
	t.Parallel()
	for _, mode := range []Mode{Buzzer, Survival} {
		for _, phase := range []Phase{Lobby, Starting, Countdown, Open, Sealed, Revealed, Over} {
			if s, ok := forfeitStep(newArena(mode, 2), View{State: State{Phase: phase}}, ada, 9); ok {
				t.Errorf("%s, %s: to %+v", mode, phase, s.To)
			}
		}
	}
}
