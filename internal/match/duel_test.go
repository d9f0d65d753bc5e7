package match

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/quiz"
)

func TestBothAnswerAWholeDuel(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		inA, inB := n.enter(ada), n.enter(bob)
		p := n.begin(w, 5)
		var score, spent int64
		for i := range p.Questions {
			w.passUntil(p, Open, i)
			asked := inA.last(w, "question").Data
			if late := now() - asked.OpensAt; asked.Question != i || late < 0 || late > 40 || asked.ClosesAt != asked.OpensAt+10_000 {
				w.Fatalf("question %d at %d: %+v", i, now(), asked)
			}
			time.Sleep(1234 * time.Millisecond)
			got, err := n.answer(p, ada, i, rightAnswer(&p.Questions[i]))
			if err != nil || got.At != now() || got.ElapsedMS != now()-asked.OpensAt || got.Question != i {
				w.Fatalf("%+v, %v", got, err)
			}
			score += int64(quiz.Points(10_000, got.ElapsedMS))
			spent += got.ElapsedMS
			if seen := inB.last(w, "answer.seen").Data; seen.Player != ada || seen.Question != i {
				w.Fatalf("%+v", seen)
			}
			if _, err := n.answer(p, bob, i, wrongAnswer(&p.Questions[i])); err != nil {
				w.Fatal(err)
			}
			closed := inB.last(w, "question.closed").Data
			if closed.Question != i || closed.Reason != allAnswered || closed.Results[0].Score != score || closed.Results[1].Points != 0 {
				w.Fatalf("%+v", closed)
			}
		}
		w.passUntil(p, Over, 4)
		over := inA.last(w, "match.over").Data
		first := over.Standings[0]
		if over.Winner != ada || over.Reason != "finished" || first.Score != score || first.TimeMS != spent || first.Correct != 5 {
			w.Errorf("%+v, want score %d in %d ms", over, score, spent)
		}
		if second := over.Standings[1]; second.Score != 0 || second.TimeMS != 50_000 || second.Answered != 5 || *second.RatingDelta >= 0 {
			w.Errorf("%+v", second)
		}
		w.checkComplete(p, inA, 0)
		w.checkComplete(p, inB, 0)
		w.checkStepsAppliedOnce()
		if results := n.results(); len(results) != 1 || results[0].Winner != ada {
			w.Errorf("told of %v", results)
		}
	})
}

func TestNobodyAnswers(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		in := n.enter(ada)
		p := n.begin(w, 2)
		for i := range p.Questions {
			w.passUntil(p, Open, i)
			asked := in.last(w, "question").Data
			w.passUntil(p, Revealed, i)
			if late := now() - asked.ClosesAt; late < sealGraceMS || late > sealGraceMS+60 {
				w.Errorf("sealed %d ms after its close", late)
			}
			closed := in.last(w, "question.closed").Data
			if closed.Reason != timeout || closed.Results[0].ElapsedMS != nil || closed.Results[0].Score != 0 {
				w.Errorf("%+v", closed)
			}
		}
		w.passUntil(p, Over, 1)
		r, _ := w.store.result(p.ID)
		for _, s := range r.Standings {
			if s.Rank != 1 || s.TimeMS != 20_000 || s.Score != 0 || s.Asked != 2 {
				w.Errorf("%+v", s)
			}
		}
		if r.Winner != "" || r.StartedAt != p.StartsAt {
			w.Errorf("%+v", r)
		}
	})
}

// An answer that arrived at the close counts, although it is processed during
// the grace period.
func TestTheArrivalTimeDecidesWhetherAnAnswerIsInTime(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		p := n.begin(w, 1)
		w.passUntil(p, Open, 0)
		s := w.store.state(p.ID)
		time.Sleep(time.Duration(s.ClosesAt-now()+100) * time.Millisecond)
		submit := func(player string, at int64) string {
			_, then, err := n.Answer(w.Context(), Submission{Player: player, At: at, Answer: answerTo(p, 0, rightAnswer(&p.Questions[0]))})
			then()
			return codeOf(err)
		}
		if code := submit(bob, s.ClosesAt+1); code != "question_closed" {
			w.Errorf("a ms after the close: %q", code)
		}
		if code := submit(ada, s.ClosesAt); code != "" {
			w.Errorf("at the close: %q", code)
		}
	})
}

func TestLeavingInEachPhase(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		phase    Phase
		question int
		asked    int
		kept     bool // bob's points of question 0
	}{
		"countdown": {Countdown, -1, 0, false},
		"open":      {Open, 0, 0, false},
		"revealed":  {Revealed, 0, 1, true},
		"open next": {Open, 1, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *cluster) {
				n := w.node()
				in := n.enter(bob)
				p := n.begin(w, 3)
				if c.question >= 0 {
					w.passUntil(p, Open, 0)
					if _, err := n.answer(p, bob, 0, rightAnswer(&p.Questions[0])); err != nil {
						w.Fatal(err)
					}
				}
				w.passUntil(p, c.phase, c.question)
				if c.question == 1 {
					if _, err := n.answer(p, bob, 1, rightAnswer(&p.Questions[1])); err != nil {
						w.Fatal(err)
					}
				}
				if err := n.Leave(w.Context(), p.ID, ada); err != nil {
					w.Fatal(err)
				}
				over := in.last(w, "match.over").Data
				if over.Winner != bob || over.Reason != "forfeit" || over.Standings[0].Asked != c.asked || over.Standings[0].Score > 0 != c.kept {
					w.Errorf("%+v", over)
				}
				left := min(c.asked, 1) // a duel without a closed question leaves no result
				if r, ok := w.store.result(p.ID); ok != (left == 1) || ok && (r.StartedAt == 0 || r.StartedAt > r.OverAt) {
					w.Errorf("a result: %v, from %d to %d", ok, r.StartedAt, r.OverAt)
				}
				w.checkComplete(p, in, 0)
				if err := n.Leave(w.Context(), p.ID, ada); err != nil || len(n.results()) != left {
					w.Errorf("leaving again: %v, %d results", err, len(n.results()))
				}
				if err := n.Leave(w.Context(), p.ID, "p_eve"); err == nil {
					w.Error("a stranger left")
				}
			})
		})
	}
}

// Both players leave at the same time at two nodes. One of them is first.
func TestBothLeave(t *testing.T) {
	inBubble(t, func(w *cluster) {
		a, b := w.node(), w.node()
		inA, inB := a.enter(ada), b.enter(bob)
		p := a.begin(w, 3)
		if err := b.AttachSession(w.Context(), "demo", p.ID, bob); err != nil {
			w.Fatal(err)
		}
		w.passUntil(p, Open, 1)
		var leaving sync.WaitGroup
		leaving.Go(func() {
			if err := a.Leave(w.Context(), p.ID, ada); err != nil {
				w.Error(err)
			}
		})
		leaving.Go(func() {
			if err := b.Leave(w.Context(), p.ID, bob); err != nil {
				w.Error(err)
			}
		})
		leaving.Wait()
		time.Sleep(2 * time.Second)
		w.checkComplete(p, inA, 0)
		w.checkComplete(p, inB, 0)
		if all := len(a.results()) + len(b.results()); all != 1 {
			w.Errorf("%d results", all)
		}
	})
}

func TestABotPlays(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		in := n.enter(ada)
		bot := NewBot()
		commits := 0
		n.link.set(func(method, _ string) fault {
			if method == "Commit" {
				commits++
			}
			return works
		})
		p := newPlan("m_1", now()+3000, 5).against(bot)
		if err := n.Start(w.Context(), p); err != nil {
			w.Fatal(err)
		}
		w.passUntil(p, Over, 4)
		w.checkComplete(p, in, 0)
		over := in.last(w, "match.over").Data
		if over.Winner != bot.Player || over.Standings[0].Answered != 5 || over.Standings[0].Rating != nil {
			w.Errorf("%+v", over)
		}
		r, _ := w.store.result(p.ID)
		if r.Counts || !r.Standings[0].Bot || commits != 5 {
			w.Errorf("%+v, %d answers", r, commits)
		}
	})
}

// Every node that holds the match plays the bot. It answers even if the node
// that opened the question is dead.
func TestABotOutlivesItsNode(t *testing.T) {
	inBubble(t, func(w *cluster) {
		a, b := w.node(), w.node()
		a.enter(ada)
		p := newPlan("m_1", now()+3000, 1).against(NewBot())
		if err := a.Start(w.Context(), p); err != nil {
			w.Fatal(err)
		}
		w.passUntil(p, Open, 0)
		a.kill()
		time.Sleep(time.Second)
		in := b.enter(ada)
		if err := b.Attach(w.Context(), Attachment{Match: p.ID, Player: ada, Sub: in}); err != nil {
			w.Fatal(err)
		}
		w.passUntil(p, Over, 0)
		r := in.last(w, "question.closed").Data.Results[1]
		wait, _ := planBotAnswer(p, 0, p.Seats[1].Player)
		if r.ElapsedMS == nil || *r.ElapsedMS < wait.Milliseconds() || *r.ElapsedMS > wait.Milliseconds()+60 {
			w.Errorf("after %v it gave %+v", wait, r)
		}
	})
}

// A match that is over can be read for endedTTLMS. Then the node drops it
// completely.
func TestAMatchIsDroppedOnceItsTimeIsUp(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n, late := w.node(), w.node()
		n.enter(ada)
		p := n.begin(w, 1)
		if !n.IsInMatch("demo", ada) {
			w.Error("not seated at the start")
		}
		w.passUntil(p, Over, 0)
		if n.IsInMatch("demo", ada) {
			w.Error("seated at the end")
		}
		time.Sleep(5 * time.Minute)
		again := late.enter(bob)
		if err := late.Attach(w.Context(), Attachment{Match: p.ID, Player: bob, Sub: again}); err != nil {
			w.Errorf("5 minutes later: %v", err)
		}
		w.checkComplete(p, again, 0)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if _, err := n.answer(p, ada, 0, rightAnswer(&p.Questions[0])); codeOf(err) != "not_in_match" {
			w.Errorf("7 minutes later: %v", err)
		}
		time.Sleep(5 * time.Minute)
		for _, n := range []*node{n, late} {
			if matches, fed := n.countHeld(); matches != 0 || fed != 0 {
				w.Errorf("%d matches and %d players stay", matches, fed)
			}
		}
	})
}

// An answer to a match that is over makes a node load the match. The node drops
// it later, too.
func TestAMatchLoadedByARefusedAnswerIsDropped(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n, other := w.node(), w.node()
		n.enter(ada)
		p := n.begin(w, 1)
		w.passUntil(p, Over, 0)
		if matches, _ := other.countHeld(); matches != 0 {
			w.Fatal("it was loaded before")
		}
		if _, err := other.answer(p, ada, 0, rightAnswer(&p.Questions[0])); codeOf(err) != "question_closed" {
			w.Errorf("%v", err)
		}
		time.Sleep(10 * time.Minute)
		if matches, _ := other.countHeld(); matches != 0 {
			w.Error("it stays")
		}
	})
}
