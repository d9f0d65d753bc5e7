package match

import (
	"sync"
	"testing"
	"time"

	"laststand/internal/protocol"
)

// Right answers arrive at three nodes at the same time. One is first, and its
// reply agrees with the push to everyone.
func TestOneIsTheFirst(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(string, string) fault{
		"fast": nil,
		"slow": func(string, string) fault {
			time.Sleep(5 * time.Millisecond)
			return works
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *cluster) {
				nodes := []*node{w.node(), w.node(), w.node()}
				p := newArena(Buzzer, 1, "red", "blue")
				in := w.gather(p, 30, nodes...)
				w.must(nodes[0].StartArena(w.Context(), p.ID))
				w.passUntil(p, Open, 0)
				for _, n := range nodes {
					n.link.set(f)
				}
				var mu sync.Mutex
				var firsts []string
				var all sync.WaitGroup
				for i := range in {
					all.Go(func() {
						player := p.seatOf(i).Player
						reply, err := nodes[i%3].answer(p, player, 0, rightAnswer(&p.Questions[0]))
						mu.Lock()
						defer mu.Unlock()
						switch {
						case err == nil && *reply.First && *reply.Correct:
							firsts = append(firsts, player)
						case codeOf(err) != "question_closed":
							w.Errorf("%+v, %v", reply, err)
						}
					})
				}
				all.Wait()
				w.passUntil(p, Over, 0)
				closed := in[4].last(w, protocol.TypeQuestionClosed).Data
				if len(firsts) != 1 || closed.First == nil || closed.First.Player != firsts[0] || closed.Reason != firstCorrect || closed.Answered != 1 {
					w.Errorf("%v were told that they are first; %+v", firsts, closed)
				}
			})
		})
	}
}

// A late answer does not affect earlier answers that are still being processed.
func TestALateAnswerClosesNothing(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		p := newArena(Buzzer, 1)
		w.gather(p, 2, n)
		w.must(n.StartArena(w.Context(), p.ID))
		w.passUntil(p, Open, 0)
		closes := w.store.state(p.ID).ClosesAt
		time.Sleep(time.Duration(closes+50-now()) * time.Millisecond)
		submit := func(i int, at int64) (protocol.Answered, error) {
			reply, then, err := n.Answer(w.Context(), Submission{
				Player: p.seatOf(i).Player, At: at, Answer: answerTo(p, 0, rightAnswer(&p.Questions[0])),
			})
			then()
			return reply, err
		}
		if _, err := submit(0, closes+1); codeOf(err) != "question_closed" {
			w.Errorf("%v", err)
		}
		if reply, err := submit(1, closes); err != nil || !*reply.First {
			w.Errorf("%+v, %v", reply, err)
		}
		again, err := submit(1, closes)
		if err != nil || !*again.First || again.At != closes {
			w.Errorf("again: %+v, %v", again, err)
		}
	})
}

// A wrong answer locks its player out, and the team for a while.
func TestLockouts(t *testing.T) {
	inBubble(t, func(w *cluster) {
		a, b := w.node(), w.node()
		p := newArena(Buzzer, 1, "red", "blue")
		p.Arena.TeamLockoutMS = 2000
		w.gather(p, 6, a, b, b, a) // 0, 2 and 4 are red
		w.must(a.StartArena(w.Context(), p.ID))
		w.passUntil(p, Open, 0)
		q := &p.Questions[0]
		if reply, err := a.answer(p, p.seatOf(0).Player, 0, wrongAnswer(q)); err != nil || *reply.Correct || *reply.First {
			w.Fatalf("%+v, %v", reply, err)
		}
		if _, err := a.answer(p, p.seatOf(0).Player, 0, rightAnswer(q)); codeOf(err) != "duplicate_answer" {
			w.Errorf("%v", err)
		}
		time.Sleep(500 * time.Millisecond)
		for _, given := range []protocol.Given{rightAnswer(q), wrongAnswer(q)} {
			_, err := b.answer(p, p.seatOf(2).Player, 0, given)
			if refused, ok := err.(*protocol.Error); !ok || refused.Code != protocol.CodeQuestionNotOpen || refused.RetryAfterMS != 1500 { //nolint:errorlint // it is not wrapped
				w.Errorf("%v", err)
			}
		}
		time.Sleep(1500 * time.Millisecond)
		if reply, err := b.answer(p, p.seatOf(2).Player, 0, rightAnswer(q)); err != nil || !*reply.First {
			w.Errorf("after it: %+v, %v", reply, err)
		}
	})
}

// If all answers are wrong, the question closes at once.
func TestAllAreWrong(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		p := newArena(Buzzer, 2)
		in := w.gather(p, 3, n)
		w.must(n.StartArena(w.Context(), p.ID))
		w.passUntil(p, Open, 0)
		w.store.removePlace(p.ID, p.seatOf(2).Player)
		n.Expel(w.Context(), p.ID, p.seatOf(2).Player, nil)
		for i := range 2 {
			if _, err := n.answer(p, p.seatOf(i).Player, 0, wrongAnswer(&p.Questions[0])); err != nil {
				w.Fatal(err)
			}
		}
		if c := in[0].last(w, protocol.TypeQuestionClosed).Data; c.Reason != allAnswered || c.First != nil || c.Answered != 2 {
			w.Errorf("%+v", c)
		}
	})
}

// Answers in a survival match, by players who are in and who are out.
func TestEliminatedPlayersMayNotAnswer(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		p := newArena(Survival, 3)
		in := w.gather(p, 3, n)
		w.must(n.StartArena(w.Context(), p.ID))
		w.passUntil(p, Open, 0)
		for i := range in {
			given := rightAnswer(&p.Questions[0])
			if i == 2 {
				given = wrongAnswer(&p.Questions[0])
			}
			if _, err := n.answer(p, p.seatOf(i).Player, 0, given); err != nil {
				w.Fatal(err)
			}
		}
		for q, given := range []protocol.Given{wrongAnswer(&p.Questions[0]), rightAnswer(&p.Questions[1]), {Value: []byte("{}")}} {
			if q == 1 {
				w.passUntil(p, Open, 1)
			}
			question := min(q, 1)
			if _, err := n.answer(p, p.seatOf(2).Player, question, given); codeOf(err) != "eliminated" {
				w.Errorf("question %d: %v", question, err)
			}
		}
		if _, err := n.answer(p, p.seatOf(2).Player, 2, rightAnswer(&p.Questions[2])); codeOf(err) != "question_not_open" {
			w.Errorf("one that is not open: %v", err)
		}
		if closed := in[2].last(w, protocol.TypeQuestionClosed).Data; closed.Void || !closed.Results[2].Out && !closed.Results[0].Out && !closed.Results[1].Out {
			w.Errorf("%+v", closed)
		}
		w.passUntil(p, Revealed, 1) // there are no answers: the question is void
		if closed := in[2].last(w, protocol.TypeQuestionClosed).Data; !closed.Void || len(closed.Results) != 2 {
			w.Errorf("%+v", closed)
		}
		w.passUntil(p, Over, 2)
		if r, _ := w.store.result(p.ID); r.Questions != 1 || r.Winner != "" && r.Standings[0].TimeMS == r.Standings[1].TimeMS {
			w.Errorf("%+v", r)
		}
	})
}
