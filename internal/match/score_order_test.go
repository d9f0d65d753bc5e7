package match

import (
	"slices"
	"testing"

	"laststand/internal/protocol"
)

// The answers to an open question change the store's order of an arena's seats.
// The shown order of equal scores must not change.
func TestEqualScoresRevealNoAnswer(t *testing.T) {
	t.Parallel()
	plan := newArena(Survival, 2)
	seats := []Seat{{Player: "p_1"}, {Player: "p_2"}, {Player: "p_3"}}
	viewAfterAnswer := func(firstSeat int, records map[string]Record) View {
		order := slices.Concat(seats[firstSeat:], seats[:firstSeat])
		return View{
			State: State{Phase: PhaseOpen, Players: 3, Alive: 3, LastDecided: -1}, Seats: order, Records: records,
			Totals: map[string]Totals{"p_1": {}, "p_2": {Score: 200, LastCorrect: 1}, "p_3": {}},
		}
	}
	shownOrder := func(v View) (players []string) {
		for _, s := range stateView(plan, v, "").Scores {
			players = append(players, s.Player)
		}
		return players
	}
	before := shownOrder(View{State: State{Phase: PhaseOpen, Players: 3, Alive: 3, LastDecided: -1}, Seats: seats, Totals: map[string]Totals{}})
	after := shownOrder(viewAfterAnswer(1, map[string]Record{"p_2": {Player: "p_2", Correct: true, Points: 200}}))
	if !slices.Equal(before, after) {
		t.Errorf("before p_2 was right %v, then %v", before, after)
	}
	if s := stateView(plan, viewAfterAnswer(2, nil), "").Scores; len(s) != 3 || s[0] != (protocol.ScoreView{Player: "p_2", Score: 200}) {
		t.Errorf("the highest is not first: %+v", s)
	}
}
