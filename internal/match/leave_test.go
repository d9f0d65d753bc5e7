package match

import "testing"

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
