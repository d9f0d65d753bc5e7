package match

import (
	"slices"
	"testing"

	"laststand/internal/protocol"
)

func TestBeginStep(t *testing.T) {
	t.Parallel()
	p := newArena(Survival, 2)
	for _, phase := range []Phase{Lobby, Starting, Countdown, Open, Sealed, Revealed, Over, Settled} {
		s, ok := beginStep(p, View{State: State{Phase: phase, Question: -1, DueAt: 1 << 40, Version: 9}}, 7000)
		if ok != (phase == Lobby) {
			t.Errorf("%s: %v", phase, ok)
		}
		if ok && (s.To.Phase != Starting || s.To.DueAt != 7000 || len(s.Pushes) > 0 || s.Version != 0) {
			t.Errorf("%+v", s)
		}
	}
}

// The announcement lists the players. Its step requires the version at which
// they were read.
func TestAnnounceStep(t *testing.T) {
	t.Parallel()
	for _, hostPaced := range []bool{false, true} {
		p := newArena(Buzzer, 2, "red", "blue")
		v := View{
			State: State{Phase: Starting, Question: -1, HostPaced: hostPaced, Players: 3, LeftSeats: 1, Version: 12, DueAt: 5},
			Seats: []Seat{p.seatOf(2), p.seatOf(0), p.seatOf(1)},
		}
		s, due := nextStep(p, v, 7000, 0)
		wantDue := map[bool]int64{false: 10_000, true: 70_000}[hostPaced]
		if !due || s.To.Phase != Countdown || s.To.StartsAt != 10_000 || s.To.DueAt != wantDue || s.To.Alive != 2 || s.Version != 12 {
			t.Fatalf("%v, %+v", due, s)
		}
		f := foundView(p, View{State: s.To, Seats: v.Seats})
		if string(s.Pushes[0].Frame(1)) != string(newPush(p, protocol.TypeMatchFound, f).Frame(1)) {
			t.Errorf("%s", s.Pushes[0].Frame(1))
		}
		seats := []string{f.Seats[0].ID, f.Seats[1].ID, f.Seats[2].ID}
		if f.ArenaID != "a_1" || f.Mode != "buzzer" || f.Players != 3 || f.StartsAt != 10_000 || len(f.Teams) != 2 || !slices.IsSorted(seats) {
			t.Errorf("%+v", f)
		}
	}
}

func TestProceedStep(t *testing.T) {
	t.Parallel()
	last := State{Phase: Revealed, Question: 2, Alive: 5, DueAt: 9000}
	for name, c := range map[string]struct {
		state State
		after int
		want  Phase // "" for no step
	}{
		"too early":               {State{Phase: Countdown, Question: -1, StartsAt: 7001}, -1, ""},
		"the first":               {State{Phase: Countdown, Question: -1, StartsAt: 7000}, -1, Open},
		"before the countdown":    {State{Phase: Lobby, Question: -1}, -1, ""},
		"while it starts":         {State{Phase: Starting, Question: -1}, -1, ""},
		"the first, left behind":  {State{Phase: Open, Alive: 5}, -1, ""},
		"one that is open":        {State{Phase: Open, Question: 1, Alive: 5}, 1, Sealed},
		"one that is not yet":     {State{Phase: Open, Question: 1, Alive: 5}, 2, ""},
		"one that is closing":     {State{Phase: Sealed, Question: 1, Alive: 5}, 1, ""},
		"one that is closed":      {State{Phase: Revealed, Question: 1, Alive: 5, DueAt: 1 << 40}, 1, Open},
		"one that is left behind": {State{Phase: Revealed, Question: 1, Alive: 5}, 0, ""},
		"the last":                {last, 2, Over},
		"the last survivor's":     {State{Phase: Revealed, Question: 1, Alive: 1}, 1, Over},
		"at the end":              {State{Phase: Over, Question: 2}, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, ok := proceedStep(newArena(Survival, 3), View{State: c.state}, c.after, 7000)
			switch {
			case ok != (c.want != "") || s.To.Phase != c.want:
				t.Errorf("%v, to %q, want %q", ok, s.To.Phase, c.want)
			case c.want == Open && (s.To.OpensAt != 7000 || s.To.Question != c.after+1):
				t.Errorf("%+v", s.To)
			case c.want == Sealed && s.To.CloseReason != "host":
				t.Errorf("%+v", s.To)
			}
		})
	}
}

func TestCloseArena(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		phase  Phase
		want   Phase // "" for no step
		pushes int
		result bool
	}{
		{Lobby, Over, 0, false}, {Starting, Over, 0, false}, {Countdown, Over, 1, false}, {Open, Sealed, 0, false},
		{Sealed, "", 0, false}, {Revealed, Over, 1, true}, {Over, "", 0, false}, {Settled, "", 0, false},
	} {
		p := newArena(Buzzer, 3)
		s, ok := closeArenaStep(p, View{State: State{Phase: c.phase, Question: 0, Alive: 5, HostPaced: true}}, 7000)
		if ok != (c.want != "") || s.To.Phase != c.want || len(s.Pushes) != c.pushes || (s.Result != nil) != c.result {
			t.Errorf("%s: %v, %+v", c.phase, ok, s)
		}
		if ends := c.want == Over; ends != (s.KeepMS > 0) || ends && s.To.DueAt != 0 {
			t.Errorf("%s: kept for %d ms, %+v", c.phase, s.KeepMS, s.To)
		}
		if c.result && s.Result.Reason != Closed {
			t.Errorf("%+v", s.Result)
		}
	}
}

// When a host closes the arena, the open question is revealed and the match
// ends at once, even if the node of the request dies.
func TestCloseArenaWhileAQuestionIsOpen(t *testing.T) {
	t.Parallel()
	p := newArena(Buzzer, 3)
	v := View{State: State{Phase: Open, Question: 0, Alive: 5, HostPaced: true}}
	s, _ := closeArenaStep(p, v, 7000)
	for _, want := range []Phase{Revealed, Over} {
		if s.To.DueAt != 7000 {
			t.Fatalf("%s, due at %d", s.To.Phase, s.To.DueAt)
		}
		v.State = s.To
		var due bool
		if s, due = nextStep(p, v, 7000, 0); !due || s.To.Phase != want {
			t.Fatalf("%v, %+v", due, s)
		}
	}
	if s.Result.Reason != Closed || s.Result.Questions != 1 {
		t.Errorf("%+v", s.Result)
	}
}

// With pace host nothing opens by itself for a minute; then everything does.
func TestAHostIsAway(t *testing.T) {
	t.Parallel()
	p := newArena(Buzzer, 3)
	sealed := View{State: State{Phase: Sealed, Question: 0, HostPaced: true, Players: 5, Alive: 5}}
	s, _ := nextStep(p, sealed, 7000, 0)
	if s.To.DueAt != 67_000 || !s.To.HostPaced {
		t.Fatalf("%+v", s.To)
	}
	if _, due := nextStep(p, View{State: s.To}, 66_999, 0); due {
		t.Fatal("it went on by itself")
	}
	s, due := nextStep(p, View{State: s.To}, 67_040, 0)
	if !due || s.To.Phase != Open || s.To.HostPaced || s.To.OpensAt != 67_040 || s.To.Question != 1 {
		t.Fatalf("%v, %+v", due, s.To)
	}
	s.To.Phase = Sealed
	if s, _ = nextStep(p, View{State: s.To}, 80_000, 0); s.To.DueAt != 82_500 {
		t.Errorf("the next opens at %d", s.To.DueAt)
	}
}

// After its last question an arena with pace host ends by itself.
func TestTheLastRevealWaitsForNoHost(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]View{
		"last question": {State: State{Phase: Sealed, Question: 2, HostPaced: true, Alive: 5, Right: 3}},
		"last survivor": {State: State{Phase: Sealed, Question: 0, HostPaced: true, Alive: 5, Right: 1}},
		"none is left":  {State: State{Phase: Sealed, Question: 0, HostPaced: true, Alive: 5, Right: 1}},
	} {
		p := newArena(Survival, 3)
		s, _ := nextStep(p, v, 7000, 0)
		if s.To.DueAt != 9500 {
			t.Errorf("%s: due at %d", name, s.To.DueAt)
		}
		if s, due := nextStep(p, View{State: s.To}, 9500, 0); !due || s.To.Phase != Over || s.Result.Reason != Finished {
			t.Errorf("%s: %v, %+v", name, due, s)
		}
	}
}

func TestALobbyThatNobodyStarts(t *testing.T) {
	t.Parallel()
	p := newArena(Buzzer, 1)
	v := View{State: State{Phase: Lobby, Question: -1, DueAt: maxLobbyMS}}
	if _, due := nextStep(p, v, maxLobbyMS-1, 0); due {
		t.Error("it was shut too early")
	}
	if s, due := nextStep(p, v, maxLobbyMS, 0); !due || s.To.Phase != Over || s.To.EndReason != Closed {
		t.Errorf("%v, %+v", due, s)
	}
}

// A question does not wait for players who have left a buzzer match.
func TestOpeningCountsAnsweringPlayers(t *testing.T) {
	t.Parallel()
	for mode, want := range map[Mode]int64{Buzzer: 3, Survival: 4} {
		v := View{State: State{Phase: Revealed, Question: 0, Players: 5, LeftSeats: 2, Alive: 4, DueAt: 7000}}
		s, due := nextStep(newArena(mode, 3), v, 7000, 0)
		if !due || s.To.Alive != want || s.Buzzer != (mode == Buzzer) {
			t.Errorf("%s: %v, %+v", mode, due, s)
		}
	}
}
