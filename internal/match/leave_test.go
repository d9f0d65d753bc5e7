package match

import "testing"

// The open question does not count: neither its answers nor the time of missing
// answers.
func TestForfeitDoesNotCountOpenQuestion(t *testing.T) {
	t.Parallel()
	totals := map[string]Totals{ada: {Score: 350, Correct: 2, Answered: 2, SavedMS: 15_000}, bob: {Score: 150, Correct: 1, Answered: 2, SavedMS: 5000}}
	records := map[string]Record{ada: {Player: ada, Question: 1, Correct: true, Points: 150, SavedMS: 5000}}
	for name, testCase := range map[string]struct {
		state  State
		want   Phase // phase after the first step, "" if there is no step
		asked  int
		score  int64 // ada's
		timeMS int64 // ada's
	}{
		"countdown": {State{Phase: PhaseCountdown, Question: -1}, PhaseOver, 0, 0, 0},
		"first":     {State{Phase: PhaseOpen, Question: 0, StartedAt: 5}, PhaseSealed, 0, 0, 0},
		"open":      {State{Phase: PhaseOpen, Question: 1, StartedAt: 5}, PhaseSealed, 1, 200, 0},
		"sealed":    {State{Phase: PhaseSealed, Question: 1, CloseReason: closeReasonTimeout}, "", 0, 0, 0},
		"revealed":  {State{Phase: PhaseRevealed, Question: 1, CloseReason: closeReasonTimeout, StartedAt: 5}, PhaseOver, 2, 350, 5000},
		"over":      {State{Phase: PhaseOver, Question: 1}, "", 0, 0, 0},
		"settled":   {State{Phase: PhaseSettled, Question: 1}, "", 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := newPlan("m_1", 5000, 3)
			view := View{State: testCase.state, Totals: totals, Records: records}
			step, ok := forfeitStep(plan, view, ada, 9000)
			if ok != (testCase.want != "") || step.NewState.Phase != testCase.want {
				t.Fatalf("%v, to %q, want %q", ok, step.NewState.Phase, testCase.want)
			}
			if !ok {
				return
			}
			if step.NewState.Phase == PhaseSealed {
				if step.Result != nil || step.NewState.CloseReason != "forfeit" || step.NewState.DueAt != 9000 {
					t.Fatalf("%+v", step)
				}
				view.State = step.NewState
				if step, ok = nextStep(plan, view, 9000, 0); !ok || step.NewState.Phase != PhaseOver {
					t.Fatalf("then %v, to %q", ok, step.NewState.Phase)
				}
			}
			result := step.Result
			if testCase.asked == 0 {
				if result != nil || len(step.Pushes) != 1 {
					t.Errorf("a duel without a closed question leaves %+v, and %d pushes", result, len(step.Pushes))
				}
				return
			}
			if result.Winner != bob || result.Reason != ReasonForfeit || result.Questions != testCase.asked || result.StartedAt == 0 {
				t.Errorf("%+v", result)
			}
			loser := result.Standings[1]
			if loser.Player != ada || loser.Score != testCase.score || loser.TimeMS != testCase.timeMS || loser.Asked != testCase.asked {
				t.Errorf("%+v", loser)
			}
			if winner := result.Standings[0]; winner.Player != bob || winner.Score != 150 {
				t.Errorf("the winner has %+v", winner)
			}
		})
	}
}

func TestLeavingAfterTheLastRevealForfeitsNothing(t *testing.T) {
	t.Parallel()
	plan := newPlan("m_1", 5000, 1)
	view := View{State: State{Phase: PhaseRevealed, DueAt: 9000, StartedAt: 5000}, Totals: map[string]Totals{ada: {Score: 150, Correct: 1, Answered: 1}}}
	step, ok := forfeitStep(plan, view, ada, 8000)
	if !ok || step.Result == nil || step.Result.Reason != ReasonFinished || step.Result.Winner != ada {
		t.Fatalf("%v, %+v; want ada's victory to stand", ok, step.Result)
	}
}

// An arena continues without a player who leaves.
func TestForfeitStepDoesNothingInArena(t *testing.T) {
	t.Parallel()
	for _, mode := range []Mode{Buzzer, Survival} {
		for _, phase := range []Phase{PhaseLobby, PhaseStarting, PhaseCountdown, PhaseOpen, PhaseSealed, PhaseRevealed, PhaseOver} {
			if step, ok := forfeitStep(newArena(mode, 2), View{State: State{Phase: phase}}, ada, 9); ok {
				t.Errorf("%s, %s: to %+v", mode, phase, step.NewState)
			}
		}
	}
}

// An arena ends at exactly the version that was read. Otherwise a player who leaves
// between the read and the end would keep a rank.
func TestArenaEndRequiresReadVersion(t *testing.T) {
	t.Parallel()
	plan, store := newArena(Survival, 1), newMemoryStore()
	state := State{Phase: PhaseLobby, Question: -1, LastDecided: -1, DueAt: maxLobbyMS}
	if created, err := store.Create(t.Context(), NewMatch{Plan: plan, State: state}); !created || err != nil {
		t.Fatal(created, err)
	}
	for i := range 2 {
		store.addSeat(plan.ID, plan.arenaSeat(i))
	}
	read := func() View {
		view, err := store.Read(t.Context(), ReadQuery{Match: plan.ID, WantListed: true, AfterSeq: -1})
		if err != nil {
			t.Fatal(err)
		}
		return view
	}
	end := func(id string, view View) bool {
		view.Phase, view.EndReason = PhaseRevealed, ReasonClosed
		step, due := nextStep(plan, view, 9000, 0)
		step.From.Phase, step.ID = PhaseLobby, id
		result, err := store.Step(t.Context(), step)
		if !due || err != nil {
			t.Fatal(due, err)
		}
		return result.Applied
	}
	before := read()
	store.removePlace(plan.ID, plan.arenaSeat(1).Player)
	if end("before", before) {
		t.Error("the arena ended without the player's leaving")
	}
	if !end("after", read()) {
		t.Error("the arena did not end")
	}
}

// A player who has left a running arena still has a seat in it.
func TestAPlayerWhoLeftAnArenaHasASeat(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n, plan := c.startNode(), newArena(Race, 2)
		c.startArena(plan, 2, n)
		leaver := plan.arenaSeat(1).Player
		c.store.removePlace(plan.ID, leaver)
		n.Expel(c.Context(), plan.ID, leaver, nil)
		for player, want := range map[string]bool{"stranger": false, leaver: true} {
			if hasSeat, err := n.HasSeat(c.Context(), "demo", plan.ID, player); err != nil || hasSeat != want {
				c.Errorf("%s has a seat: %t, %v", player, hasSeat, err)
			}
		}
	})
}
