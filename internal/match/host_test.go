package match

import (
	"slices"
	"testing"

	"laststand/internal/protocol"
)

func TestArenaStartsOnlyFromLobby(t *testing.T) {
	t.Parallel()
	plan := newArena(Survival, 2)
	for _, phase := range []Phase{PhaseLobby, PhaseStarting, PhaseCountdown, PhaseOpen, PhaseSealed, PhaseRevealed, PhaseOver, PhaseSettled} {
		step, ok := startArenaStep(plan, View{State: State{Phase: phase, Question: -1, DueAt: 1 << 40, Version: 9}}, 7000)
		if ok != (phase == PhaseLobby) {
			t.Errorf("%s: %v", phase, ok)
		}
		if ok && (step.NewState.Phase != PhaseStarting || step.NewState.DueAt != 7000 || len(step.Pushes) > 0 || step.Version != 0) {
			t.Errorf("%+v", step)
		}
	}
}

// The announcement lists the players. Its step requires the version at which
// they were read.
func TestAnnouncementListsPlayers(t *testing.T) {
	t.Parallel()
	for _, hostPaced := range []bool{false, true} {
		plan := newArena(Buzzer, 2, "red", "blue")
		view := View{
			State: State{Phase: PhaseStarting, Question: -1, HostPaced: hostPaced, Players: 3, LeftSeats: 1, Version: 12, DueAt: 5},
			Seats: []Seat{plan.arenaSeat(2), plan.arenaSeat(0), plan.arenaSeat(1)},
		}
		step, due := nextStep(plan, view, 7000, 0)
		wantDue := map[bool]int64{false: 10_000, true: 70_000}[hostPaced]
		if !due || step.NewState.Phase != PhaseCountdown || step.NewState.StartsAt != 10_000 || step.NewState.DueAt != wantDue || step.NewState.Alive != 2 || step.Version != 12 {
			t.Fatalf("%v, %+v", due, step)
		}
		shown := matchFoundView(plan, View{State: step.NewState, Seats: view.Seats})
		if string(step.Pushes[0].Frame(1)) != string(newPush(plan, protocol.TypeMatchFound, shown).Frame(1)) {
			t.Errorf("%s", step.Pushes[0].Frame(1))
		}
		seats := []string{shown.Seats[0].ID, shown.Seats[1].ID, shown.Seats[2].ID}
		if shown.ArenaID != "a_1" || shown.Mode != "buzzer" || shown.Players != 3 || shown.StartsAt != 10_000 || len(shown.Teams) != 2 || !slices.IsSorted(seats) {
			t.Errorf("%+v", shown)
		}
	}
}

func TestProceedStep(t *testing.T) {
	t.Parallel()
	lastRevealed := State{Phase: PhaseRevealed, Question: 2, Alive: 5, DueAt: 9000}
	for name, testCase := range map[string]struct {
		state State
		after int
		want  Phase // "" for no step
	}{
		"countdown not over":               {State{Phase: PhaseCountdown, Question: -1, StartsAt: 7001}, -1, ""},
		"countdown over":                   {State{Phase: PhaseCountdown, Question: -1, StartsAt: 7000}, -1, PhaseOpen},
		"lobby":                            {State{Phase: PhaseLobby, Question: -1}, -1, ""},
		"match is being announced":         {State{Phase: PhaseStarting, Question: -1}, -1, ""},
		"first question is already open":   {State{Phase: PhaseOpen, Alive: 5}, -1, ""},
		"close the open question":          {State{Phase: PhaseOpen, Question: 1, Alive: 5}, 1, PhaseSealed},
		"named question is not open yet":   {State{Phase: PhaseOpen, Question: 1, Alive: 5}, 2, ""},
		"question is being closed":         {State{Phase: PhaseSealed, Question: 1, Alive: 5}, 1, ""},
		"question is closed":               {State{Phase: PhaseRevealed, Question: 1, Alive: 5, DueAt: 1 << 40}, 1, PhaseOpen},
		"named question is an earlier one": {State{Phase: PhaseRevealed, Question: 1, Alive: 5}, 0, ""},
		"last question is closed":          {lastRevealed, 2, PhaseOver},
		"one survivor is left":             {State{Phase: PhaseRevealed, Question: 1, Alive: 1}, 1, PhaseOver},
		"match is over":                    {State{Phase: PhaseOver, Question: 2}, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			step, ok := proceedStep(newArena(Survival, 3), View{State: testCase.state}, testCase.after, 7000)
			switch {
			case ok != (testCase.want != "") || step.NewState.Phase != testCase.want:
				t.Errorf("%v, to %q, want %q", ok, step.NewState.Phase, testCase.want)
			case testCase.want == PhaseOpen && (step.NewState.OpensAt != 7000 || step.NewState.Question != testCase.after+1):
				t.Errorf("%+v", step.NewState)
			case testCase.want == PhaseSealed && step.NewState.CloseReason != "host":
				t.Errorf("%+v", step.NewState)
			}
		})
	}
}

func TestCloseArenaStepInEachPhase(t *testing.T) {
	t.Parallel()
	for _, testCase := range []struct {
		phase  Phase
		want   Phase // "" for no step
		pushes int
		result bool
	}{
		{PhaseLobby, PhaseOver, 0, false}, {PhaseStarting, PhaseOver, 0, false}, {PhaseCountdown, PhaseOver, 1, false}, {PhaseOpen, PhaseSealed, 0, false},
		{PhaseSealed, "", 0, false}, {PhaseRevealed, PhaseOver, 1, true}, {PhaseOver, "", 0, false}, {PhaseSettled, "", 0, false},
	} {
		plan := newArena(Buzzer, 3)
		step, ok := closeArenaStep(plan, View{State: State{Phase: testCase.phase, Question: 0, Alive: 5, HostPaced: true}}, 7000)
		if ok != (testCase.want != "") || step.NewState.Phase != testCase.want || len(step.Pushes) != testCase.pushes || (step.Result != nil) != testCase.result {
			t.Errorf("%s: %v, %+v", testCase.phase, ok, step)
		}
		if ends := testCase.want == PhaseOver; ends != (step.TTLMS > 0) || ends && step.NewState.DueAt != 0 {
			t.Errorf("%s: kept for %d ms, %+v", testCase.phase, step.TTLMS, step.NewState)
		}
		if testCase.result && step.Result.Reason != ReasonClosed {
			t.Errorf("%+v", step.Result)
		}
	}
}

// When a host closes the arena, the open question is revealed and the match
// ends at once, even if the node of the request dies.
func TestCloseArenaWhileAQuestionIsOpen(t *testing.T) {
	t.Parallel()
	plan := newArena(Buzzer, 3)
	view := View{State: State{Phase: PhaseOpen, Question: 0, Alive: 5, HostPaced: true}}
	step, _ := closeArenaStep(plan, view, 7000)
	for _, want := range []Phase{PhaseRevealed, PhaseOver} {
		if step.NewState.DueAt != 7000 {
			t.Fatalf("%s, due at %d", step.NewState.Phase, step.NewState.DueAt)
		}
		view.State = step.NewState
		var due bool
		if step, due = nextStep(plan, view, 7000, 0); !due || step.NewState.Phase != want {
			t.Fatalf("%v, %+v", due, step)
		}
	}
	if step.Result.Reason != ReasonClosed || step.Result.Questions != 1 {
		t.Errorf("%+v", step.Result)
	}
}

// With pace host nothing opens by itself for a minute; then everything does.
func TestQuestionOpensAfterHostAbsence(t *testing.T) {
	t.Parallel()
	plan := newArena(Buzzer, 3)
	sealed := View{State: State{Phase: PhaseSealed, Question: 0, HostPaced: true, Players: 5, Alive: 5}}
	step, _ := nextStep(plan, sealed, 7000, 0)
	if step.NewState.DueAt != 67_000 || !step.NewState.HostPaced {
		t.Fatalf("%+v", step.NewState)
	}
	if _, due := nextStep(plan, View{State: step.NewState}, 66_999, 0); due {
		t.Fatal("the question opened during the host's absence")
	}
	step, due := nextStep(plan, View{State: step.NewState}, 67_040, 0)
	if !due || step.NewState.Phase != PhaseOpen || step.NewState.HostPaced || step.NewState.OpensAt != 67_040 || step.NewState.Question != 1 {
		t.Fatalf("%v, %+v", due, step.NewState)
	}
	step.NewState.Phase = PhaseSealed
	if step, _ = nextStep(plan, View{State: step.NewState}, 80_000, 0); step.NewState.DueAt != 82_500 {
		t.Errorf("the next opens at %d", step.NewState.DueAt)
	}
}

// After its last question an arena with pace host ends by itself.
func TestHostPacedArenaEndsByItself(t *testing.T) {
	t.Parallel()
	for name, view := range map[string]View{
		"last question": {State: State{Phase: PhaseSealed, Question: 2, HostPaced: true, Alive: 5, Right: 3}},
		"last survivor": {State: State{Phase: PhaseSealed, Question: 0, HostPaced: true, Alive: 5, Right: 1}},
	} {
		plan := newArena(Survival, 3)
		step, _ := nextStep(plan, view, 7000, 0)
		if step.NewState.DueAt != 9500 {
			t.Errorf("%s: due at %d", name, step.NewState.DueAt)
		}
		if step, due := nextStep(plan, View{State: step.NewState}, 9500, 0); !due || step.NewState.Phase != PhaseOver || step.Result.Reason != ReasonFinished {
			t.Errorf("%s: %v, %+v", name, due, step)
		}
	}
}

func TestLobbyThatIsNeverStartedEnds(t *testing.T) {
	t.Parallel()
	plan := newArena(Buzzer, 1)
	view := View{State: State{Phase: PhaseLobby, Question: -1, DueAt: maxLobbyMS}}
	if _, due := nextStep(plan, view, maxLobbyMS-1, 0); due {
		t.Error("the lobby ended too early")
	}
	if step, due := nextStep(plan, view, maxLobbyMS, 0); !due || step.NewState.Phase != PhaseOver || step.NewState.EndReason != ReasonClosed {
		t.Errorf("%v, %+v", due, step)
	}
}

// A question does not wait for players who have left a buzzer match.
func TestOpeningCountsAnsweringPlayers(t *testing.T) {
	t.Parallel()
	for mode, want := range map[Mode]int64{Buzzer: 3, Survival: 4} {
		view := View{State: State{Phase: PhaseRevealed, Question: 0, Players: 5, LeftSeats: 2, Alive: 4, DueAt: 7000}}
		step, due := nextStep(newArena(mode, 3), view, 7000, 0)
		if !due || step.NewState.Alive != want || step.Mode != mode {
			t.Errorf("%s: %v, %+v", mode, due, step)
		}
	}
}
