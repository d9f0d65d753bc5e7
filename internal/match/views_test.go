package match

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"laststand/internal/protocol"
	"laststand/internal/quiz"
)

// withOtherAnswers returns the same plan with other right answers.
func withOtherAnswers(plan *Plan) *Plan {
	changed := *plan
	changed.Questions = make([]quiz.DrawnQuestion, len(plan.Questions))
	for i := range plan.Questions {
		q := *plan.Questions[i].Question
		q.Explanation = "something else"
		switch q.Kind {
		case quiz.Single, quiz.Boolean, quiz.Multiple:
			q.RightIndexes = []int{(q.RightIndexes[0] + 1) % len(q.Choices)}
		case quiz.Number:
			q.Target = &quiz.Target{Value: -1}
		case quiz.Text:
			q.Accepted = []string{"Hopper"}
		}
		changed.Questions[i].Question = &q
	}
	return &changed
}

// All pushes before a question's close are the same for any right answer, so they
// cannot disclose it. Ada answers right and bob wrong.
func TestNothingRevealsTheAnswerBeforeTheClose(t *testing.T) {
	t.Parallel()
	for i, sample := range sampleQuestions {
		plan := newPlan("m_1", 5000, len(sampleQuestions))
		encodedViews := func(plan *Plan, phase Phase) string {
			state := State{Phase: phase, Question: i, OpensAt: 5000, ClosesAt: 15_000, CloseReason: "", Answered: 2, Seq: 9}
			view := View{State: state, Records: map[string]Record{}, Totals: map[string]Totals{}}
			for player, given := range map[string]protocol.Given{ada: rightAnswer(&sampleQuestions[i]), bob: wrongAnswer(&sampleQuestions[i])} {
				record := judgeSubmission(t, plan, state, Submission{Player: player, ArrivedAt: 6000, Answer: answerTo(plan, i, given)})
				view.Records[player], view.Totals[player] = record, Totals{Score: 120, Correct: 1, Answered: 1}.withRecord(record)
			}
			return encoded(t, matchFoundView(plan, view), questionView(plan, state), stateView(plan, view, ada), stateView(plan, view, bob))
		}
		for _, phase := range []Phase{PhaseOpen, PhaseSealed} {
			if views, changedViews := encodedViews(plan, phase), encodedViews(withOtherAnswers(plan), phase); views != changedViews {
				t.Errorf("%s, %s: the views depend on the right answer:\n%s\n%s", sample.Kind, phase, views, changedViews)
			}
		}
		if before := encodedViews(plan, PhaseOpen); strings.Contains(before, "explained") || strings.Contains(before, "accepted") {
			t.Errorf("%s: %s", sample.Kind, before)
		}
		view := View{State: State{Question: i}}
		if closed := encoded(t, questionClosedView(plan, view)); !strings.Contains(closed, "explained") || closed == encoded(t, questionClosedView(withOtherAnswers(plan), view)) {
			t.Errorf("%s: the close does not reveal the right answer: %s", sample.Kind, closed)
		}
	}
}

func encoded(t *testing.T, views ...any) string {
	t.Helper()
	raw, err := json.Marshal(views)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestStateViewInEachPhase(t *testing.T) {
	t.Parallel()
	plan := newPlan("m_1", 5000, 3)
	view := View{
		State:   State{Question: 1, OpensAt: 5000, ClosesAt: 15_000, Seq: 9},
		Records: map[string]Record{ada: {Question: 1, Given: json.RawMessage(`{"choice":1}`), ArrivedAt: 6000, ElapsedMS: 1000, Points: 190, SavedMS: 9000, Correct: true}},
		Totals:  map[string]Totals{ada: {Score: 310, Correct: 2}, bob: {Score: 150, Correct: 1}},
	}
	for _, testCase := range []struct {
		phase    Phase
		shown    string
		question bool
		own      protocol.OwnScore
		first    string
	}{
		{PhaseCountdown, "countdown", false, protocol.OwnScore{Score: 310, Rank: 1}, ada},
		{PhaseOpen, "open", true, protocol.OwnScore{Score: 120, Rank: 2}, bob},
		{PhaseSealed, "open", true, protocol.OwnScore{Score: 120, Rank: 2}, bob},
		{PhaseRevealed, "revealed", true, protocol.OwnScore{Score: 310, Rank: 1}, ada},
		{PhaseOver, "over", false, protocol.OwnScore{Score: 310, Rank: 1}, ada},
		{PhaseSettled, "over", false, protocol.OwnScore{Score: 310, Rank: 1}, ada},
	} {
		view.Phase = testCase.phase
		state := stateView(plan, view, ada)
		if state.Phase != testCase.shown || (state.Question != nil) != testCase.question || state.Own != testCase.own || state.Scores[0].Player != testCase.first || state.Seq != 9 {
			t.Errorf("%s: %+v", testCase.phase, state)
		}
		if (state.YourAnswer != nil) != testCase.question || testCase.question && (state.YourAnswer.ElapsedMS != 1000 || string(state.YourAnswer.Given) != `{"choice":1}`) {
			t.Errorf("%s: your answer %+v", testCase.phase, state.YourAnswer)
		}
		if other := stateView(plan, view, bob); other.YourAnswer != nil {
			t.Errorf("%s: bob is shown %+v", testCase.phase, other.YourAnswer)
		}
	}
}

func TestQuestionClosedView(t *testing.T) {
	t.Parallel()
	plan := newPlan("m_1", 5000, 3)
	view := View{
		State:   State{Phase: PhaseSealed, Question: 0, CloseReason: closeReasonTimeout, Answered: 1, Right: 1},
		Records: map[string]Record{ada: {Given: json.RawMessage(`{"choice":2}`), Correct: true, ElapsedMS: 2500, Points: 175}},
		Totals:  map[string]Totals{ada: {Score: 175}},
	}
	got := encoded(t, questionClosedView(plan, view))
	want := `[{"question":0,"reason":"timeout","answer":{"choice":2},"explanation":"explained","answered":1,"right":1,"results":[` +
		`{"player":"p_ada","nickname":"Ada","given":{"choice":2},"correct":true,"elapsed_ms":2500,"points":175,"score":175},` +
		`{"player":"p_bob","nickname":"Bob","given":null,"correct":false,"elapsed_ms":null,"points":0,"score":0}]}]`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestMatchOverView(t *testing.T) {
	t.Parallel()
	plan := newPlan("m_1", 5000, 3)
	won := matchOverView(plan, View{}, duelResult(plan, State{}, map[string]Totals{ada: {Score: 5}}, 9))
	if won.Winner != ada || won.Standings[0].Rating == nil || *won.Standings[0].Rating != 1500+*won.Standings[0].RatingDelta {
		t.Errorf("%+v", won)
	}
	drawn := encoded(t, matchOverView(plan, View{}, duelResult(plan.withBotOpponent(NewBot()), State{}, nil, 9)))
	if strings.Contains(drawn, "winner") || strings.Contains(drawn, "rating") || strings.Count(drawn, `"rank":1`) != 2 {
		t.Errorf("a draw: %s", drawn)
	}
}

func TestMatchFoundView(t *testing.T) {
	t.Parallel()
	plan := newPlan("m_1", 5000, 3).withBotOpponent(NewBot())
	shown := matchFoundView(plan, View{})
	if shown.Mode != "duel" || shown.Questions != 3 || shown.Players != 2 || shown.StartsAt != 5000 {
		t.Errorf("%+v", shown)
	}
	if !slices.Equal([]bool{shown.Seats[0].Bot, shown.Seats[1].Bot}, []bool{false, true}) || *shown.Seats[0].Rating != 1500 || shown.Seats[1].Rating != nil {
		t.Errorf("%+v", shown.Seats)
	}
}

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
