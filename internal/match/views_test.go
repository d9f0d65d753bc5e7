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
func withOtherAnswers(p *Plan) *Plan {
	o := *p
	o.Questions = make([]quiz.Drawn, len(p.Questions))
	for i := range p.Questions {
		q := *p.Questions[i].Question
		q.Explanation = "something else"
		switch q.Kind {
		case quiz.Single, quiz.Boolean, quiz.Multiple:
			q.Right = []int{(q.Right[0] + 1) % len(q.Choices)}
		case quiz.Number:
			q.Target = &quiz.Target{Value: -1}
		case quiz.Text:
			q.Accepted = []string{"Hopper"}
		}
		o.Questions[i].Question = &q
	}
	return &o
}

// All pushes before a question's close are the same whatever is right, so they
// cannot disclose it. Ada answers right and bob wrong.
func TestNothingRevealsTheAnswerBeforeTheClose(t *testing.T) {
	t.Parallel()
	for i, sample := range samples {
		p := newPlan("m_1", 5000, len(samples))
		got := func(p *Plan, phase Phase) string {
			s := State{Phase: phase, Question: i, OpensAt: 5000, ClosesAt: 15_000, CloseReason: "", Answered: 2, Seq: 9}
			v := View{State: s, Records: map[string]Record{}, Totals: map[string]Totals{}}
			for player, given := range map[string]protocol.Given{ada: rightAnswer(&samples[i]), bob: wrongAnswer(&samples[i])} {
				r := judgedBy(t, p, s, Submission{Player: player, At: 6000, Answer: answerTo(p, i, given)})
				v.Records[player], v.Totals[player] = r, plus(Totals{Score: 120, Correct: 1, Answered: 1}, r)
			}
			return encoded(t, foundView(p, v), questionView(p, s), stateView(p, v, ada), stateView(p, v, bob))
		}
		for _, phase := range []Phase{Open, Sealed} {
			if this, that := got(p, phase), got(withOtherAnswers(p), phase); this != that {
				t.Errorf("%s, %s: it depends on what is right:\n%s\n%s", sample.Kind, phase, this, that)
			}
		}
		if before := got(p, Open); strings.Contains(before, "explained") || strings.Contains(before, "accepted") {
			t.Errorf("%s: %s", sample.Kind, before)
		}
		v := View{State: State{Question: i}}
		if closed := encoded(t, closedView(p, v)); !strings.Contains(closed, "explained") || closed == encoded(t, closedView(withOtherAnswers(p), v)) {
			t.Errorf("%s: its close does not reveal it: %s", sample.Kind, closed)
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

func TestStateView(t *testing.T) {
	t.Parallel()
	p := newPlan("m_1", 5000, 3)
	v := View{
		State:   State{Question: 1, OpensAt: 5000, ClosesAt: 15_000, Seq: 9},
		Records: map[string]Record{ada: {Question: 1, Given: json.RawMessage(`{"choice":1}`), At: 6000, ElapsedMS: 1000, Points: 190, SavedMS: 9000, Correct: true}},
		Totals:  map[string]Totals{ada: {Score: 310, Correct: 2}, bob: {Score: 150, Correct: 1}},
	}
	for _, c := range []struct {
		phase    Phase
		shown    string
		question bool
		own      protocol.OwnScore
		first    string
	}{
		{Countdown, "countdown", false, protocol.OwnScore{Score: 310, Rank: 1}, ada},
		{Open, "open", true, protocol.OwnScore{Score: 120, Rank: 2}, bob},
		{Sealed, "open", true, protocol.OwnScore{Score: 120, Rank: 2}, bob},
		{Revealed, "revealed", true, protocol.OwnScore{Score: 310, Rank: 1}, ada},
		{Over, "over", false, protocol.OwnScore{Score: 310, Rank: 1}, ada},
		{Settled, "over", false, protocol.OwnScore{Score: 310, Rank: 1}, ada},
	} {
		v.Phase = c.phase
		s := stateView(p, v, ada)
		if s.Phase != c.shown || (s.Question != nil) != c.question || s.Own != c.own || s.Scores[0].Player != c.first || s.Seq != 9 {
			t.Errorf("%s: %+v", c.phase, s)
		}
		if (s.YourAnswer != nil) != c.question || c.question && (s.YourAnswer.ElapsedMS != 1000 || string(s.YourAnswer.Given) != `{"choice":1}`) {
			t.Errorf("%s: your answer %+v", c.phase, s.YourAnswer)
		}
		if other := stateView(p, v, bob); other.YourAnswer != nil {
			t.Errorf("%s: bob is shown %+v", c.phase, other.YourAnswer)
		}
	}
}

func TestClosedView(t *testing.T) {
	t.Parallel()
	p := newPlan("m_1", 5000, 3)
	v := View{
		State:   State{Phase: Sealed, Question: 0, CloseReason: timeout, Answered: 1, Right: 1},
		Records: map[string]Record{ada: {Given: json.RawMessage(`{"choice":2}`), Correct: true, ElapsedMS: 2500, Points: 175}},
		Totals:  map[string]Totals{ada: {Score: 175}},
	}
	got := encoded(t, closedView(p, v))
	want := `[{"question":0,"reason":"timeout","answer":{"choice":2},"explanation":"explained","answered":1,"right":1,"results":[` +
		`{"player":"p_ada","nickname":"Ada","given":{"choice":2},"correct":true,"elapsed_ms":2500,"points":175,"score":175},` +
		`{"player":"p_bob","nickname":"Bob","given":null,"correct":false,"elapsed_ms":null,"points":0,"score":0}]}]`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestOverView(t *testing.T) {
	t.Parallel()
	p := newPlan("m_1", 5000, 3)
	won := overView(p, View{}, duelResult(p, State{}, map[string]Totals{ada: {Score: 5}}, 9))
	if won.Winner != ada || won.Standings[0].Rating == nil || *won.Standings[0].Rating != 1500+*won.Standings[0].RatingDelta {
		t.Errorf("%+v", won)
	}
	drawn := encoded(t, overView(p, View{}, duelResult(p.against(NewBot()), State{}, nil, 9)))
	if strings.Contains(drawn, "winner") || strings.Contains(drawn, "rating") || strings.Count(drawn, `"rank":1`) != 2 {
		t.Errorf("a draw: %s", drawn)
	}
}

func TestFoundView(t *testing.T) {
	t.Parallel()
	p := newPlan("m_1", 5000, 3).against(NewBot())
	f := foundView(p, View{})
	if f.Mode != "duel" || f.Questions != 3 || f.Players != 2 || f.StartsAt != 5000 {
		t.Errorf("%+v", f)
	}
	if !slices.Equal([]bool{f.Seats[0].Bot, f.Seats[1].Bot}, []bool{false, true}) || *f.Seats[0].Rating != 1500 || f.Seats[1].Rating != nil {
		t.Errorf("%+v", f.Seats)
	}
}
