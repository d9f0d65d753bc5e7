package match

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"laststand/internal/protocol"
)

// codeOf is the wire code of an error: "" for nil, "failed" for an error that
// is not a refusal.
func codeOf(err error) string {
	var refused *protocol.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &refused):
		return string(refused.Code)
	}
	return "failed"
}

// If several things are wrong with an answer, the refusal names the one that
// comes first in the contract.
func TestTheOrderOfRefusals(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		p := n.begin(w, 5)
		broken := protocol.Given{Value: json.RawMessage(`"text"`)}
		check := func(when string, player string, a protocol.Answer, want string) {
			w.Helper()
			reply, then, err := n.Answer(w.Context(), Submission{Player: player, At: now(), Answer: a})
			then()
			if codeOf(err) != want {
				w.Errorf("%s: %v, want %q", when, err, want)
			}
			if err != nil && reply != (protocol.Answered{}) {
				w.Errorf("%s: beside the refusal %+v", when, reply)
			}
		}
		nowhere := answerTo(p, 99, broken)
		nowhere.Match = "m_none"
		check("no such match, nothing right", ada, nowhere, "not_in_match")
		check("no seat, nothing right", "p_eve", answerTo(p, 99, broken), "not_in_match")
		check("no question", ada, protocol.Answer{Match: p.ID, Given: broken}, "bad_request")
		check("no such question", ada, answerTo(p, 5, broken), "bad_request")
		check("question below 0", ada, answerTo(p, -1, broken), "bad_request")
		check("countdown", ada, answerTo(p, 0, rightAnswer(&p.Questions[0])), "question_not_open")
		check("countdown, of a wrong form", ada, answerTo(p, 0, broken), "question_not_open")

		w.passUntil(p, Open, 0)
		check("next one, of a wrong form", ada, answerTo(p, 1, broken), "question_not_open")
		check("next one", ada, answerTo(p, 1, rightAnswer(&p.Questions[1])), "question_not_open")
		check("of a wrong form", ada, answerTo(p, 0, broken), "invalid_answer")
		check("after refusals", ada, answerTo(p, 0, rightAnswer(&p.Questions[0])), "")
		check("second, of a wrong form", ada, answerTo(p, 0, broken), "invalid_answer")
		check("second", ada, answerTo(p, 0, wrongAnswer(&p.Questions[0])), "duplicate_answer")

		w.passUntil(p, Revealed, 0)
		check("closed, second", ada, answerTo(p, 0, wrongAnswer(&p.Questions[0])), "duplicate_answer")
		check("closed", bob, answerTo(p, 0, rightAnswer(&p.Questions[0])), "question_closed")
		check("closed, of a wrong form", bob, answerTo(p, 0, broken), "invalid_answer")
		check("closed, the next", bob, answerTo(p, 1, rightAnswer(&p.Questions[1])), "question_not_open")

		w.passUntil(p, Open, 1)
		check("left behind, second", ada, answerTo(p, 0, wrongAnswer(&p.Questions[0])), "duplicate_answer")
		check("left behind", bob, answerTo(p, 0, rightAnswer(&p.Questions[0])), "question_closed")
		w.passUntil(p, Over, 4)
		check("over", bob, answerTo(p, 4, rightAnswer(&p.Questions[4])), "question_closed")
		check("over, second", ada, answerTo(p, 0, wrongAnswer(&p.Questions[0])), "duplicate_answer")
	})
}

// A repeated answer gets the same reply for as long as the match is kept. A
// different one is refused with the accepted answer.
func TestSecondAnswers(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		in := n.enter(bob)
		p := n.begin(w, 2)
		w.passUntil(p, Open, 0)
		w.passUntil(p, Revealed, 0)
		w.passUntil(p, Open, 1) // the question of kind multiple
		first, err := n.answer(p, ada, 1, protocol.Given{Choices: []int{2, 0}})
		if err != nil {
			w.Fatal(err)
		}
		for _, phase := range []Phase{Open, Revealed, Over} {
			w.passUntil(p, phase, 1)
			time.Sleep(time.Second)
			again, err := n.answer(p, ada, 1, protocol.Given{Choices: []int{0, 2}})
			if err != nil || again != first {
				w.Errorf("%s: the same again: %+v, %v, first %+v", phase, again, err, first)
			}
			_, err = n.answer(p, ada, 1, protocol.Given{Choices: []int{1}})
			var refused *protocol.Error
			if !errors.As(err, &refused) || refused.Accepted == nil {
				w.Fatalf("%s: another one: %v", phase, err)
			}
			if a := refused.Accepted; string(a.Given) != `{"choices":[2,0]}` || a.At != first.At || a.ElapsedMS != first.ElapsedMS || a.Question != 1 {
				w.Errorf("%s: accepted %+v", phase, a)
			}
		}
		seen := 0
		for _, f := range in.read(w) {
			if f.Type == "answer.seen" {
				seen++
			}
		}
		if seen != 1 {
			w.Errorf("seen %d times", seen)
		}
		w.checkComplete(p, in, 0)
	})
}

// The reply comes first. The pushes of an answer follow when the caller runs
// the returned function.
func TestPushesWaitForTheReply(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		in := n.enter(ada)
		p := n.begin(w, 1)
		w.passUntil(p, Open, 0)
		for i, player := range []string{bob, ada} {
			before := len(in.frames())
			_, then, err := n.Answer(w.Context(), Submission{Player: player, At: now(), Answer: answerTo(p, 0, rightAnswer(&p.Questions[0]))})
			if err != nil {
				w.Fatal(err)
			}
			if more := len(in.frames()) - before; more != 0 {
				w.Errorf("%d pushes before the reply", more)
			}
			then()
			if more := len(in.frames()) - before; more != 1+i { // answer.seen, then also question.closed
				w.Errorf("%d pushes after the reply", more)
			}
		}
	})
}

// A node that does not know yet that a question is open asks the store. Before
// its own pushes it delivers the missed ones.
func TestAnAnswerAtANodeThatIsBehind(t *testing.T) {
	inBubble(t, func(w *cluster) {
		a, b := w.node(), w.node()
		a.enter(ada)
		in := b.enter(bob)
		p := a.begin(w, 2)
		if err := b.AttachSession(w.Context(), "demo", p.ID, bob); err != nil {
			w.Fatal(err)
		}
		b.link.set(followsNothing)
		w.bus.leave(b.Node)
		b.Wheel.Close()
		for i := range p.Questions {
			w.passUntil(p, Open, i)
			if _, err := b.answer(p, bob, i, rightAnswer(&p.Questions[i])); err != nil {
				w.Errorf("question %d: %v", i, err)
			}
			w.checkComplete(p, in, 0)
		}
	})
}

// A node that judged by an outdated opening time judges again.
func TestAnAnswerJudgedByAnOldOpening(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		n.enter(ada)
		p := n.begin(w, 1)
		w.passUntil(p, Open, 0)
		old := w.store.state(p.ID)
		old.OpensAt -= 4000
		n.findLocal(p.ID).deliver(delivery{state: &old})
		time.Sleep(time.Second)
		got, err := n.answer(p, ada, 0, rightAnswer(&p.Questions[0]))
		if want := now() - w.store.state(p.ID).OpensAt; err != nil || got.ElapsedMS != want {
			w.Errorf("%+v, %v, want %d ms", got, err, want)
		}
	})
}

func TestAnswerWhileTheStoreIsDown(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		p := n.begin(w, 1)
		w.passUntil(p, Open, 0)
		n.link.set(func(string, string) fault { return fails })
		if _, err := n.answer(p, ada, 0, rightAnswer(&p.Questions[0])); codeOf(err) != "failed" {
			w.Errorf("%v", err)
		}
		n.link.set(nil)
		if _, err := n.answer(p, ada, 0, rightAnswer(&p.Questions[0])); err != nil {
			w.Errorf("the failed one used it up: %v", err)
		}
	})
}
