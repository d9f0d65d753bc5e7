package match

import (
	"math"
	"math/rand/v2"
	"testing"

	"laststand/internal/quiz"
	"laststand/internal/rating"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	p := newPlan("m_1", 0, 5)
	s := State{Phase: Open, Question: 0, OpensAt: 50_000, ClosesAt: 60_000}
	for name, c := range map[string]struct {
		at      int64
		wrong   bool
		elapsed int64
		points  int64
		saved   int64
	}{
		"at the opening":           {at: 50_000, points: 200, saved: 10_000},
		"stamped before it":        {at: 49_990, points: 200, saved: 10_000},
		"stamped 50 ms before it":  {at: 49_950, points: 200, saved: 10_000},
		"stamped 51 ms before it":  {at: 49_949, elapsed: 10_000, points: 100},
		"stamped long before it":   {at: 41_000, elapsed: 10_000, points: 100},
		"wrong, long before it":    {at: 41_000, wrong: true, elapsed: 10_000},
		"after a ms":               {at: 50_001, elapsed: 1, points: 199, saved: 9999},
		"half-way":                 {at: 55_000, elapsed: 5000, points: 150, saved: 5000},
		"at the close":             {at: 60_000, elapsed: 10_000, points: 100},
		"in extended time":         {at: 63_000, elapsed: 13_000, points: 100},
		"wrong":                    {at: 50_000, wrong: true},
		"wrong, at the close":      {at: 60_000, wrong: true, elapsed: 10_000},
		"wrong, in extended time ": {at: 63_000, wrong: true, elapsed: 13_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			given := rightAnswer(&p.Questions[0])
			if c.wrong {
				given = wrongAnswer(&p.Questions[0])
			}
			r := judgedBy(t, p, s, Submission{Player: ada, At: c.at, Answer: answerTo(p, 0, given)})
			if r.Correct == c.wrong || r.ElapsedMS != c.elapsed || r.Points != c.points || r.SavedMS != c.saved {
				t.Errorf("%+v", r)
			}
			if r.Player != ada || r.At != c.at || r.Question != 0 {
				t.Errorf("%+v is not of the submission", r)
			}
		})
	}
}

// For any order of choices, questions, judgement and solution agree.
func TestJudgeKnowsEveryKind(t *testing.T) {
	t.Parallel()
	p := newPlan("m_1", 0, len(samples))
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 8 * len(p.Questions) {
		i %= len(p.Questions)
		p.Questions[i] = p.Questions[i].Shuffle(rng)
		q := &p.Questions[i]
		right := judgedBy(t, p, State{}, Submission{Player: ada, Answer: answerTo(p, i, rightAnswer(q))})
		wrong := judgedBy(t, p, State{}, Submission{Player: ada, Answer: answerTo(p, i, wrongAnswer(q))})
		if !right.Correct || right.Points != 200 || wrong.Correct || wrong.Points != 0 || wrong.SavedMS != 0 {
			t.Errorf("%s: right %+v, wrong %+v", q.Kind, right, wrong)
		}
		shown, ok := closedView(p, View{State: State{Question: i}}).Answer.(quiz.Solution)
		if !ok || q.Kind == quiz.Single && questionView(p, State{Question: i}).Choices[*shown.Choice] != "c" {
			t.Errorf("%s: %s is shown to be right", encoded(t, q), encoded(t, shown))
		}
	}
}

func TestDuelResult(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ada, bob Totals
		leaver   string
		ranks    map[string]int
		winner   string
	}{
		"higher score":             {ada: Totals{Score: 300, SavedMS: 1}, bob: Totals{Score: 299, SavedMS: 9000}, ranks: map[string]int{ada: 1, bob: 2}, winner: ada},
		"higher score, other seat": {ada: Totals{Score: 1}, bob: Totals{Score: 2}, ranks: map[string]int{ada: 2, bob: 1}, winner: bob},
		"less time":                {ada: Totals{Score: 300, SavedMS: 700}, bob: Totals{Score: 300, SavedMS: 701}, ranks: map[string]int{ada: 2, bob: 1}, winner: bob},
		"draw":                     {ada: Totals{Score: 300, SavedMS: 700}, bob: Totals{Score: 300, SavedMS: 700}, ranks: map[string]int{ada: 1, bob: 1}},
		"nobody right":             {ranks: map[string]int{ada: 1, bob: 1}},
		"the leader leaves":        {ada: Totals{Score: 900, SavedMS: 5}, leaver: ada, ranks: map[string]int{ada: 2, bob: 1}, winner: bob},
		"equals, one leaves":       {leaver: bob, ranks: map[string]int{ada: 1, bob: 2}, winner: ada},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlan("m_1", 0, 5)
			s := State{StartedAt: 7}
			if c.leaver != "" {
				s.EndReason, s.Leaver = Forfeit, c.leaver
			}
			r := duelResult(p, s, map[string]Totals{ada: c.ada, bob: c.bob}, 99)
			if r.Winner != c.winner || r.Questions != 5 || r.OverAt != 99 || r.StartedAt != 7 || r.Game != "demo" || !r.Counts {
				t.Errorf("%+v", r)
			}
			if want := map[bool]Reason{true: Forfeit, false: Finished}[c.leaver != ""]; r.Reason != want {
				t.Errorf("reason %s, want %s", r.Reason, want)
			}
			for i, st := range r.Standings {
				if st.Rank != c.ranks[st.Player] || i > 0 && st.Rank < r.Standings[i-1].Rank {
					t.Errorf("%s has rank %d at place %d", st.Player, st.Rank, i)
				}
			}
		})
	}
}

// duelResult returns the result of a duel that ends after its last question.
func duelResult(p *Plan, s State, totals map[string]Totals, now int64) *Result {
	s.Phase, s.Question = Revealed, len(p.Questions)-1
	return resultOf(p, View{State: s, Totals: totals}, now)
}

func TestStandingTime(t *testing.T) {
	t.Parallel()
	p := newPlan("m_1", 0, 5)
	v := View{
		State:  State{Phase: Revealed, Question: 4},
		Totals: map[string]Totals{ada: {Score: 350, Correct: 2, Answered: 4, SavedMS: 15_000}},
	}
	got := standing(p, v, p.Seats[0])
	if got.TimeMS != 35_000 || got.LimitMS != 50_000 || got.Asked != 5 || got.Correct != 2 || got.Answered != 4 || got.Score != 350 {
		t.Errorf("%+v", got)
	}
}

func TestRatings(t *testing.T) {
	t.Parallel()
	change := func(r *Result, player string) float64 {
		for _, s := range r.Standings {
			if s.Player == player {
				return s.Rating.After.R - s.Rating.Before.R
			}
		}
		return math.NaN()
	}
	p := newPlan("m_1", 0, 5)
	p.Seats[0].Rating = &rating.Rating{R: 1500, RD: 100, Sigma: 0.06}
	p.Seats[1].Rating = &rating.Rating{R: 1500, RD: 100, Sigma: 0.06}
	won := duelResult(p, State{}, map[string]Totals{ada: {Score: 1}}, 9)
	if up, down := change(won, ada), change(won, bob); up <= 0 || math.Abs(up+down) > 1e-9 {
		t.Errorf("equals: %+.3f and %+.3f are no transfer to the winner", up, down)
	}
	if drawn := duelResult(p, State{}, nil, 9); math.Abs(change(drawn, ada)) > 1e-9 {
		t.Errorf("a draw of equals moves by %g", change(drawn, ada))
	}
	left := duelResult(p, State{EndReason: Forfeit, Leaver: ada}, map[string]Totals{ada: {Score: 9}}, 9)
	if change(left, ada) != change(won, bob) {
		t.Errorf("leaving costs %g, losing %g", change(left, ada), change(won, bob))
	}
	if won.Standings[0].Rating.Before != *p.Seats[0].Rating {
		t.Errorf("before the match: %+v", won.Standings[0].Rating.Before)
	}
}

func TestNoRatings(t *testing.T) {
	t.Parallel()
	unrated := newPlan("m_1", 0, 1)
	unrated.Rated = false
	stranger := newPlan("m_2", 0, 1)
	stranger.Seats[1].Rating = nil
	for _, p := range []*Plan{unrated, stranger, newPlan("m_3", 0, 1).against(NewBot())} {
		for _, s := range duelResult(p, State{}, map[string]Totals{ada: {Score: 1}}, 9).Standings {
			if s.Rating != nil {
				t.Errorf("%s: %s was rated", p.ID, s.Player)
			}
		}
	}
}
