package match

import (
	"math"
	"math/rand/v2"
	"testing"

	"laststand/internal/quiz"
)

func TestJudgeAnswer(t *testing.T) {
	t.Parallel()
	plan := newPlan("m_1", 0, 5)
	state := State{Phase: PhaseOpen, Question: 0, OpensAt: 50_000, ClosesAt: 60_000}
	for name, testCase := range map[string]struct {
		arrivedAt int64
		wrong     bool
		elapsedMS int64
		points    int64
		savedMS   int64
	}{
		"at the opening":           {arrivedAt: 50_000, points: 200, savedMS: 10_000},
		"10 ms before the opening": {arrivedAt: 49_990, points: 200, savedMS: 10_000},
		"50 ms before the opening": {arrivedAt: 49_950, points: 200, savedMS: 10_000},
		"51 ms before the opening": {arrivedAt: 49_949, elapsedMS: 10_000, points: 100},
		"long before the opening":  {arrivedAt: 41_000, elapsedMS: 10_000, points: 100},
		"wrong, long before":       {arrivedAt: 41_000, wrong: true, elapsedMS: 10_000},
		"after a ms":               {arrivedAt: 50_001, elapsedMS: 1, points: 199, savedMS: 9999},
		"half-way":                 {arrivedAt: 55_000, elapsedMS: 5000, points: 150, savedMS: 5000},
		"at the close":             {arrivedAt: 60_000, elapsedMS: 10_000, points: 100},
		"in extended time":         {arrivedAt: 63_000, elapsedMS: 13_000, points: 100},
		"wrong":                    {arrivedAt: 50_000, wrong: true},
		"wrong, at the close":      {arrivedAt: 60_000, wrong: true, elapsedMS: 10_000},
		"wrong, in extended time ": {arrivedAt: 63_000, wrong: true, elapsedMS: 13_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			given := rightAnswer(&plan.Questions[0])
			if testCase.wrong {
				given = wrongAnswer(&plan.Questions[0])
			}
			record := judgeSubmission(t, plan, state, Submission{Player: ada, ArrivedAt: testCase.arrivedAt, Answer: answerTo(plan, 0, given)})
			if record.Correct == testCase.wrong || record.ElapsedMS != testCase.elapsedMS || record.Points != testCase.points || record.SavedMS != testCase.savedMS {
				t.Errorf("%+v", record)
			}
			if record.Player != ada || record.ArrivedAt != testCase.arrivedAt || record.Question != 0 {
				t.Errorf("%+v is not of the submission", record)
			}
		})
	}
}

// For any order of choices, questions, judgement and solution agree.
func TestJudgeAnswerSupportsEveryKind(t *testing.T) {
	t.Parallel()
	plan := newPlan("m_1", 0, len(sampleQuestions))
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 8 * len(plan.Questions) {
		i %= len(plan.Questions)
		plan.Questions[i] = plan.Questions[i].Shuffle(rng)
		question := &plan.Questions[i]
		right := judgeSubmission(t, plan, State{}, Submission{Player: ada, Answer: answerTo(plan, i, rightAnswer(question))})
		wrong := judgeSubmission(t, plan, State{}, Submission{Player: ada, Answer: answerTo(plan, i, wrongAnswer(question))})
		if !right.Correct || right.Points != 200 || wrong.Correct || wrong.Points != 0 || wrong.SavedMS != 0 {
			t.Errorf("%s: right %+v, wrong %+v", question.Kind, right, wrong)
		}
		shown, ok := questionClosedView(plan, View{State: State{Question: i}}).Answer.(quiz.Solution)
		if !ok || question.Kind == quiz.Single && questionView(plan, State{Question: i}).Choices[*shown.Choice] != "c" {
			t.Errorf("%s: %s is shown to be right", encoded(t, question), encoded(t, shown))
		}
	}
}

// duelResult returns the result of a duel that ends after its last question.
func duelResult(plan *Plan, state State, totals map[string]Totals, now int64) *Result {
	state.Phase, state.Question = PhaseRevealed, len(plan.Questions)-1
	return newResult(plan, View{State: state, Totals: totals}, now)
}

func TestRatingsFollowTheResult(t *testing.T) {
	t.Parallel()
	ratingChange := func(result *Result, player string) float64 {
		for _, entry := range result.Standings {
			if entry.Player == player {
				return entry.Rating.After.R - entry.Rating.Before.R
			}
		}
		return math.NaN()
	}
	plan := newPlan("m_1", 0, 5)
	plan.Seats[0].Rating = &Rating{R: 1500, RD: 100, Sigma: 0.06}
	plan.Seats[1].Rating = &Rating{R: 1500, RD: 100, Sigma: 0.06}
	won := duelResult(plan, State{}, map[string]Totals{ada: {Score: 1}}, 9)
	if up, down := ratingChange(won, ada), ratingChange(won, bob); up <= 0 || math.Abs(up+down) > 1e-9 {
		t.Errorf("equal ratings: %+.3f and %+.3f are no transfer to the winner", up, down)
	}
	if drawn := duelResult(plan, State{}, nil, 9); math.Abs(ratingChange(drawn, ada)) > 1e-9 {
		t.Errorf("a draw of equals moves by %g", ratingChange(drawn, ada))
	}
	forfeited := duelResult(plan, State{EndReason: ReasonForfeit, Leaver: ada}, map[string]Totals{ada: {Score: 9}}, 9)
	if ratingChange(forfeited, ada) != ratingChange(won, bob) {
		t.Errorf("leaving costs %g, losing %g", ratingChange(forfeited, ada), ratingChange(won, bob))
	}
	if won.Standings[0].Rating.Before != *plan.Seats[0].Rating {
		t.Errorf("before the match: %+v", won.Standings[0].Rating.Before)
	}
}

func TestUnratedDuelsChangeNoRating(t *testing.T) {
	t.Parallel()
	unrated := newPlan("m_1", 0, 1)
	unrated.Rated = false
	withoutRating := newPlan("m_2", 0, 1)
	withoutRating.Seats[1].Rating = nil
	for _, plan := range []*Plan{unrated, withoutRating, newPlan("m_3", 0, 1).withBotOpponent(NewBot())} {
		for _, standing := range duelResult(plan, State{}, map[string]Totals{ada: {Score: 1}}, 9).Standings {
			if standing.Rating != nil {
				t.Errorf("%s: %s was rated", plan.ID, standing.Player)
			}
		}
	}
}
