package match

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"laststand/internal/protocol"
)

func TestNext(t *testing.T) {
	t.Parallel()
	p := newPlan("m_1", 5000, 2)
	for name, c := range map[string]struct {
		state State
		now   int64
		want  Phase // of the step, "" for none
		at    State // some of what it leads to
	}{
		"countdown, early": {State{Phase: Countdown, Question: -1, DueAt: 5000}, 4999, "", State{}},
		"countdown, due": {
			State{Phase: Countdown, Question: -1, DueAt: 5000}, 5000, Open,
			State{OpensAt: 5000, ClosesAt: 15_000, DueAt: 15_150, StartedAt: 5000},
		},
		"a little late, it opened in time": {
			State{Phase: Countdown, Question: -1, DueAt: 5000}, 5100, Open,
			State{OpensAt: 5000, ClosesAt: 15_000, DueAt: 15_150, StartedAt: 5000},
		},
		"too late, it opens now": {
			State{Phase: Countdown, Question: -1, DueAt: 5000}, 5101, Open,
			State{OpensAt: 5101, ClosesAt: 15_101, DueAt: 15_251, StartedAt: 5101},
		},
		"open, one answered, grace": {State{Phase: Open, ClosesAt: 15_000, DueAt: 15_150, Answered: 1}, 15_149, "", State{}},
		"open, grace over":          {State{Phase: Open, ClosesAt: 15_000, DueAt: 15_150}, 15_150, Sealed, State{Reason: timeout, DueAt: 15_150}},
		"open, all answered":        {State{Phase: Open, ClosesAt: 15_000, DueAt: 15_150, Answered: 2}, 6000, Sealed, State{Reason: allAnswered, DueAt: 6000}},
		"sealed":                    {State{Phase: Sealed, Reason: timeout, DueAt: 15_150}, 15_151, Revealed, State{Reason: timeout, DueAt: 17_651}},
		"sealed by leaving":         {State{Phase: Sealed, Reason: "forfeit", Ending: Forfeit, Leaver: ada}, 7000, Over, State{Reason: "forfeit", Ending: Forfeit, Leaver: ada}},
		"revealed, early":           {State{Phase: Revealed, DueAt: 9000}, 8999, "", State{}},
		"revealed, next": {
			State{Phase: Revealed, DueAt: 9000, StartedAt: 5000, Reason: timeout}, 9000, Open,
			State{Question: 1, OpensAt: 9000, ClosesAt: 19_000, DueAt: 19_150, StartedAt: 5000},
		},
		"revealed, last": {State{Phase: Revealed, Question: 1, DueAt: 9000, StartedAt: 5000}, 9000, Over, State{Question: 1, StartedAt: 5000}},
		"over":           {State{Phase: Over, Question: 1}, 1 << 50, "", State{}},
		"settled":        {State{Phase: Settled, Question: 1}, 1 << 50, "", State{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, due := next(p, View{State: c.state}, c.now)
			if due != (c.want != "") || s.To.Phase != c.want {
				t.Fatalf("%v, to %q, want %q", due, s.To.Phase, c.want)
			}
			if !due {
				return
			}
			if s.From != c.state.Phase || s.Question != c.state.Question || s.Match != p.ID {
				t.Errorf("begins at %s of %d", s.From, s.Question)
			}
			got, want := s.To, c.at
			want.Phase = c.want
			if c.want != Open && c.want != Over { // a question's instants stay
				want.OpensAt, want.ClosesAt = c.state.OpensAt, c.state.ClosesAt
			}
			got.Answered = 0
			if got != want {
				t.Errorf("leads to\n%+v, want\n%+v", got, want)
			}
			if (s.Result != nil) != (c.want == Over) || (s.KeepMS > 0) != (c.want == Over) {
				t.Errorf("result %v, kept for %d ms", s.Result, s.KeepMS)
			}
		})
	}
}

// The open question counts for nobody: not the answers given, not the time of
// those that were not.
func TestLeave(t *testing.T) {
	t.Parallel()
	totals := map[string]Totals{ada: {Score: 350, Correct: 2, Answered: 2, SavedMS: 15_000}, bob: {Score: 150, Correct: 1, Answered: 2, SavedMS: 5000}}
	records := map[string]Record{ada: {Player: ada, Question: 1, Correct: true, Points: 150, SavedMS: 5000}}
	for name, c := range map[string]struct {
		state State
		want  Phase // of the first step, "" where another has to come first
		asked int
		score int64 // ada's
		time  int64 // ada's
	}{
		"countdown": {State{Phase: Countdown, Question: -1}, Over, 0, 350, -15_000},
		"open":      {State{Phase: Open, Question: 1, StartedAt: 5}, Sealed, 1, 200, 0},
		"sealed":    {State{Phase: Sealed, Question: 1, Reason: timeout}, "", 0, 0, 0},
		"revealed":  {State{Phase: Revealed, Question: 1, Reason: timeout, StartedAt: 5}, Over, 2, 350, 5000},
		"over":      {State{Phase: Over, Question: 1}, "", 0, 0, 0},
		"settled":   {State{Phase: Settled, Question: 1}, "", 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlan("m_1", 5000, 3)
			v := View{State: c.state, Totals: totals, Records: records}
			s, ok := leave(p, v, ada, 9000)
			if ok != (c.want != "") || s.To.Phase != c.want {
				t.Fatalf("%v, to %q, want %q", ok, s.To.Phase, c.want)
			}
			if !ok {
				return
			}
			if s.To.Phase == Sealed {
				if s.Result != nil || s.To.Reason != "forfeit" || s.To.DueAt != 9000 {
					t.Fatalf("%+v", s)
				}
				v.State = s.To
				if s, ok = next(p, v, 9000); !ok || s.To.Phase != Over {
					t.Fatalf("then %v, to %q", ok, s.To.Phase)
				}
			}
			r := s.Result
			if r.Winner != bob || r.Reason != Forfeit || r.Questions != c.asked || r.StartedAt == 0 {
				t.Errorf("%+v", r)
			}
			loser := r.Standings[1]
			if loser.Player != ada || loser.Score != c.score || loser.TimeMS != c.time || loser.Asked != c.asked {
				t.Errorf("%+v", loser)
			}
			if keeps := r.Standings[0]; keeps.Player != bob || keeps.Score != 150 {
				t.Errorf("the other keeps %+v", keeps)
			}
		})
	}
}

func TestLeavingAfterTheLastRevealForfeitsNothing(t *testing.T) {
	t.Parallel()
	p := newPlan("m_1", 5000, 1)
	v := View{State: State{Phase: Revealed, DueAt: 9000, StartedAt: 5000}, Totals: map[string]Totals{ada: {Score: 150, Correct: 1, Answered: 1}}}
	s, ok := leave(p, v, ada, 8000)
	if !ok || s.Result == nil || s.Result.Reason != Finished || s.Result.Winner != ada {
		t.Fatalf("%v, %+v; want ada's victory to stand", ok, s.Result)
	}
}

// course is a match on its own: what may happen to it, in any order.
type course struct {
	*rapid.T
	plan  *Plan
	store *memory
	now   int64
	tries int
}

func (c *course) view(after int64) View {
	v, err := c.store.Read(context.Background(), ReadQuery{Match: c.plan.ID, Players: c.plan.players(), After: after})
	if err != nil {
		c.Fatal(err)
	}
	return v
}

func (c *course) take(s Step) {
	c.tries++
	s.ID = fmt.Sprint(c.tries)
	if _, err := c.store.Step(context.Background(), s); err != nil {
		c.Fatal(err)
	}
}

// answer commits an answer as a node would that knows a view.
func (c *course) answer(v View, player string, right bool) {
	if v.Question < 0 {
		return
	}
	q := &c.plan.Questions[v.Question]
	given := wrongAnswer(q)
	if right {
		given = rightAnswer(q)
	}
	r := judgedBy(c, c.plan, v.State, Submission{Player: player, At: c.now, Answer: answerTo(c.plan, v.Question, given)})
	c.tries++
	seen := push(c.plan, protocol.TypeAnswerSeen, protocol.AnswerSeen{Question: v.Question, Player: player})
	_, err := c.store.Commit(context.Background(), Attempt{
		Match: c.plan.ID, ID: fmt.Sprint(c.tries), OpensAt: v.OpensAt, Record: r, Seats: 2, Seen: &seen,
	})
	if err != nil {
		c.Fatal(err)
	}
}

// Whatever its players do and however late its nodes are: a duel ends, skips
// no question, and every score is the sum of the records that count.
func TestAnyCourseOfADuel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		c := &course{T: rt, store: newMemory(), plan: newPlan("m_1", 3000, rapid.IntRange(1, 4).Draw(rt, "questions"))}
		if _, err := c.store.Create(context.Background(), c.plan, push(c.plan, protocol.TypeMatchFound, foundView(c.plan))); err != nil {
			rt.Fatal(err)
		}
		stale := c.view(-1)
		player := rapid.SampledFrom([]string{ada, bob})
		tick := func(v View) {
			if s, due := next(c.plan, v, c.now); due {
				c.take(s)
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"wait":         func(rt *rapid.T) { c.now += rapid.Int64Range(1, 12_000).Draw(rt, "ms") },
			"tick":         func(*rapid.T) { tick(c.view(-1)) },
			"tick stalled": func(*rapid.T) { tick(stale) },
			"stall":        func(*rapid.T) { stale = c.view(-1) },
			"answer": func(rt *rapid.T) {
				c.answer(c.view(-1), player.Draw(rt, "player"), rapid.Bool().Draw(rt, "right"))
			},
			"answer stalled": func(rt *rapid.T) { c.answer(stale, player.Draw(rt, "player"), true) },
			"leave": func(rt *rapid.T) {
				if rapid.IntRange(0, 9).Draw(rt, "mood") > 0 {
					rt.Skip()
				}
				if s, ok := leave(c.plan, c.view(-1), player.Draw(rt, "player"), c.now); ok {
					c.take(s)
				}
			},
			"": func(*rapid.T) {},
		})
		for range 4*len(c.plan.Questions) + 2 {
			c.now += 20_000
			tick(c.view(-1))
		}
		c.check()
	})
}

func (c *course) check() {
	v := c.view(0)
	r, ok := c.store.result(c.plan.ID)
	if v.Phase != Over || !ok {
		c.Fatalf("ends at %+v, result %v", v.State, ok)
	}
	opened, closed := 0, 0
	for i, raw := range v.Frames {
		frame := string(raw)
		if !strings.Contains(frame, fmt.Sprintf(`"seq":%d,`, i+1)) {
			c.Fatalf("frame %d is %s", i+1, frame)
		}
		if strings.HasPrefix(frame, `{"type":"question",`) {
			if !strings.Contains(frame, fmt.Sprintf(`"data":{"question":%d,`, opened)) || opened != closed {
				c.Fatalf("after %d opened and %d closed comes %s", opened, closed, frame)
			}
			opened++
		}
		if strings.HasPrefix(frame, `{"type":"question.closed"`) {
			closed++
		}
	}
	if r.Questions != closed || r.Reason == Finished && closed != len(c.plan.Questions) || opened-closed > 1 {
		c.Fatalf("%d opened, %d closed, result %+v", opened, closed, r)
	}
	for _, s := range r.Standings {
		var sum Totals
		for question := range closed {
			if rec, ok := c.store.matches[c.plan.ID].records[place(question, s.Player)]; ok {
				sum = plus(sum, rec)
			}
		}
		if s.Score != sum.Score || s.Correct != int(sum.Correct) || s.Answered != int(sum.Answered) ||
			s.TimeMS != c.plan.LimitMS*int64(closed)-sum.SavedMS || s.Asked != closed {
			c.Fatalf("%+v, its records add up to %+v", s, sum)
		}
	}
	c.checkShown(v, r)
}

// checkShown says that a player who asks after the end is shown the result's
// scores.
func (c *course) checkShown(v View, r Result) {
	shown := stateView(c.plan, v, ada)
	for _, score := range shown.Scores {
		for _, s := range r.Standings {
			if s.Player == score.Player && s.Score != score.Score {
				c.Fatalf("%s is shown %d, the result says %d", s.Player, score.Score, s.Score)
			}
		}
	}
}
