package match

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// fakeRanking is a store with one finished match of many players.
type fakeRanking struct {
	view   View
	placed []RankedPlayer
	asked  []int
	err    error
}

func (p *fakeRanking) Read(context.Context, ReadQuery) (View, error) { return p.view, nil }

func (p *fakeRanking) RankedPlayers(_ context.Context, _ string, from, limit int) ([]RankedPlayer, error) {
	p.asked = append(p.asked, from)
	if from > 0 && p.err != nil {
		return nil, p.err
	}
	return p.placed[from:min(from+limit, len(p.placed))], nil
}

// newFakeRanking returns players of a buzzer match, two with each score.
func newFakeRanking(plan *Plan, n int) *fakeRanking {
	p := &fakeRanking{view: View{Plan: plan, State: State{Phase: Over, Question: len(plan.Questions) - 1}}}
	for i := range n {
		p.placed = append(p.placed, RankedPlayer{Seat: plan.seatOf(i), Totals: Totals{Score: int64(n - i/2)}})
	}
	return p
}

func TestComplete(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 51, 499, 500, 501, 1700} {
		store := newFakeRanking(newArena(Buzzer, 4), n)
		r := &Result{Match: "m_1", Paged: true}
		if err := CompleteStandings(t.Context(), store, r); err != nil || r.Paged || len(r.Standings) != n {
			t.Errorf("%d players: %v, %d standings", n, err, len(r.Standings))
		}
		for i, s := range r.Standings {
			if s.Rank != i/2*2+1 || s.Player != store.placed[i].Seat.Player || s.Asked != 4 || s.TimeMS != 40_000 {
				t.Fatalf("place %d: %+v", i, s)
			}
		}
		for i, from := range store.asked {
			if from != i*rankedPage {
				t.Errorf("asked from %v", store.asked)
			}
		}
	}
}

// A result whose standings cannot be read stays unchanged.
func TestCompleteFails(t *testing.T) {
	t.Parallel()
	store := newFakeRanking(newArena(Buzzer, 4), 900)
	store.err = errDown
	r := &Result{Match: "m_1", Paged: true}
	if err := CompleteStandings(t.Context(), store, r); !errors.Is(err, errDown) || !r.Paged || r.Standings != nil {
		t.Errorf("%v, %+v", err, r)
	}
	store.err, store.placed = nil, nil
	if err := CompleteStandings(t.Context(), store, r); !errors.Is(err, ErrNotFound) || !r.Paged {
		t.Errorf("without a single standing: %v, %+v", err, r)
	}
	whole := &Result{Standings: []Standing{{Player: ada}}}
	if err := CompleteStandings(t.Context(), nil, whole); err != nil || len(whole.Standings) != 1 {
		t.Errorf("%v, %+v", err, whole)
	}
}

func TestTeamResults(t *testing.T) {
	t.Parallel()
	p := newArena(Buzzer, 1, "red", "blue", "green")
	for name, c := range map[string]struct {
		scores map[string]int64
		order  []string
		ranks  []int
		winner string
	}{
		"all apart":   {map[string]int64{"red": 1, "blue": 3, "green": 2}, []string{"blue", "green", "red"}, []int{1, 2, 3}, "blue"},
		"two at once": {map[string]int64{"red": 3, "green": 3}, []string{"red", "green", "blue"}, []int{1, 1, 3}, ""},
		"no points":   {nil, []string{"red", "blue", "green"}, []int{1, 1, 1}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := View{State: State{Phase: Revealed, StartedAt: 1}, Teams: map[string]TeamTotals{}}
			for id, score := range c.scores {
				v.Teams[id] = TeamTotals{Score: score}
			}
			r := resultOf(p, v, 9)
			for i, team := range r.Teams {
				if team.ID != c.order[i] || team.Name != "Team "+team.ID || team.Rank != c.ranks[i] {
					t.Errorf("place %d: %+v", i, team)
				}
			}
			if r.Winner != c.winner || r.ArenaID != "a_1" {
				t.Errorf("%+v", r)
			}
		})
	}
}

// In a large match only some players are listed, with their ranks among all.
func TestTheBestOfMany(t *testing.T) {
	t.Parallel()
	p := newArena(Survival, 2)
	v := View{
		State:  State{Phase: Revealed, Question: 1, LastDecided: 1, Players: 51, StartedAt: 1, Alive: 10},
		Totals: map[string]Totals{}, Ranks: map[string]int64{"p_030": 31},
	}
	for i := range ShortView {
		seat := p.seatOf(i)
		v.Seats = append(v.Seats, seat)
		v.Totals[seat.Player] = Totals{Score: 300, Correct: 2, Answered: 2, LastCorrect: 2, LastAnswered: 2, SavedMS: int64(5000 - i/2)}
	}
	r := resultOf(p, v, 9)
	over := overView(p, v, r)
	var ranks []int
	for _, s := range over.Standings {
		ranks = append(ranks, s.Rank)
	}
	if !r.Paged || r.Standings != nil || !slices.Equal(ranks, []int{1, 1, 3, 3, 5, 5, 7, 7, 9, 9}) || over.Winner != "" {
		t.Errorf("%+v, ranks %v", r, ranks)
	}
	if f := foundView(p, v); f.Players != 51 || f.Seats != nil {
		t.Errorf("%+v", f)
	}
	v.Totals["p_030"] = Totals{Score: 120, Correct: 1, Answered: 2, LastCorrect: 1, LastAnswered: 2}
	v.Scores = []byte(`[{"player":"p_000","nickname":"Player 0","score":7}]`)
	for phase, rank := range map[Phase]int{Revealed: 31, Over: 31, Open: 0, Sealed: 0} {
		v.Phase = phase
		s := stateView(p, v, "p_030")
		if s.Own.Rank != rank || s.Own.Score != 120 || !s.Out || len(s.Scores) != 1 || s.Scores[0].Score != 7 {
			t.Errorf("%s: %+v", phase, s)
		}
	}
}
