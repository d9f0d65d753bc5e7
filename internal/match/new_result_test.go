package match

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// fakeRanking is a store with one finished match of many players.
type fakeRanking struct {
	view          View
	players       []RankedPlayer
	requestedFrom []int
	err           error
}

func (r *fakeRanking) Read(context.Context, ReadQuery) (View, error) { return r.view, nil }

func (r *fakeRanking) RankedPlayers(_ context.Context, _ string, from, limit int) ([]RankedPlayer, error) {
	r.requestedFrom = append(r.requestedFrom, from)
	if from > 0 && r.err != nil {
		return nil, r.err
	}
	return r.players[from:min(from+limit, len(r.players))], nil
}

// newFakeRanking returns players of a buzzer match, two with each score.
func newFakeRanking(plan *Plan, n int) *fakeRanking {
	ranking := &fakeRanking{view: View{Plan: plan, State: State{Phase: PhaseOver, Question: len(plan.Questions) - 1}}}
	for i := range n {
		ranking.players = append(ranking.players, RankedPlayer{Seat: plan.arenaSeat(i), Totals: Totals{Score: int64(n - i/2)}})
	}
	return ranking
}

func TestCompleteStandingsReadsAllPages(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 51, 499, 500, 501, 1700} {
		store := newFakeRanking(newArena(Buzzer, 4), n)
		result := &Result{Match: "m_1", Paged: true}
		if err := CompleteStandings(t.Context(), store, result); err != nil || result.Paged || len(result.Standings) != n {
			t.Errorf("%d players: %v, %d standings", n, err, len(result.Standings))
		}
		for i, entry := range result.Standings {
			if entry.Rank != i/2*2+1 || entry.Player != store.players[i].Seat.Player || entry.Asked != 4 || entry.TimeMS != 40_000 {
				t.Fatalf("place %d: %+v", i, entry)
			}
		}
		for i, from := range store.requestedFrom {
			if from != i*rankedPageSize {
				t.Errorf("asked from %v", store.requestedFrom)
			}
		}
	}
}

// A result whose standings cannot be read stays unchanged.
func TestFailedCompleteStandingsChangesNothing(t *testing.T) {
	t.Parallel()
	store := newFakeRanking(newArena(Buzzer, 4), 900)
	store.err = errDown
	result := &Result{Match: "m_1", Paged: true}
	if err := CompleteStandings(t.Context(), store, result); !errors.Is(err, errDown) || !result.Paged || result.Standings != nil {
		t.Errorf("%v, %+v", err, result)
	}
	store.err, store.players = nil, nil
	if err := CompleteStandings(t.Context(), store, result); !errors.Is(err, ErrNotFound) || !result.Paged {
		t.Errorf("without a single standing: %v, %+v", err, result)
	}
	complete := &Result{Standings: []Standing{{Player: ada}}}
	if err := CompleteStandings(t.Context(), nil, complete); err != nil || len(complete.Standings) != 1 {
		t.Errorf("%v, %+v", err, complete)
	}
}

// In a large match only some players are listed, with their ranks among all.
func TestLargeMatchListsBestPlayers(t *testing.T) {
	t.Parallel()
	plan := newArena(Survival, 2)
	view := View{
		State:  State{Phase: PhaseRevealed, Question: 1, LastDecided: 1, Players: 51, StartedAt: 1, Alive: 10},
		Totals: map[string]Totals{}, Ranks: map[string]int64{"p_030": 31},
	}
	for i := range ShortListPlayers {
		seat := plan.arenaSeat(i)
		view.Seats = append(view.Seats, seat)
		view.Totals[seat.Player] = Totals{Score: 300, Correct: 2, Answered: 2, LastCorrect: 2, LastAnswered: 2, SavedMS: int64(5000 - i/2)}
	}
	result := newResult(plan, view, 9)
	over := matchOverView(plan, view, result)
	var ranks []int
	for _, s := range over.Standings {
		ranks = append(ranks, s.Rank)
	}
	if !result.Paged || result.Standings != nil || !slices.Equal(ranks, []int{1, 1, 3, 3, 5, 5, 7, 7, 9, 9}) || over.Winner != "" {
		t.Errorf("%+v, ranks %v", result, ranks)
	}
	if announcement := matchFoundView(plan, view); announcement.Players != 51 || announcement.Seats != nil {
		t.Errorf("%+v", announcement)
	}
	view.Totals["p_030"] = Totals{Score: 120, Correct: 1, Answered: 2, LastCorrect: 1, LastAnswered: 2}
	view.Scores = []byte(`[{"player":"p_000","nickname":"Player 0","score":7}]`)
	for phase, rank := range map[Phase]int{PhaseRevealed: 31, PhaseOver: 31, PhaseOpen: 0, PhaseSealed: 0} {
		view.Phase = phase
		s := stateView(plan, view, "p_030")
		if s.Own.Rank != rank || s.Own.Score != 120 || !s.Out || len(s.Scores) != 1 || s.Scores[0].Score != 7 {
			t.Errorf("%s: %+v", phase, s)
		}
	}
}
