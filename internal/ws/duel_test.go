package ws

import (
	"fmt"
	"testing"

	"laststand/internal/lobby"
	"laststand/internal/protocol"
)

func shortDuels(_ *Config, d *lobby.Duel) { d.Questions, d.LimitMS = 2, 60_000 }

// In 200 duels both players answer immediately. Each reply comes before the push that it
// causes, numbers have no gap, and both see the same bytes. Only a few duels run at
// once: the embedded Redis runs one script at a time. On an overloaded machine a script
// takes some 50 ms, and more callers would exceed their 2 s.
func TestDuels(t *testing.T) {
	t.Parallel()
	n := startNode(t, shortDuels)
	const duels, atOnce = 200, 4
	next := make(chan int)
	var play []func()
	for range atOnce {
		play = append(play, func() {
			for i := range next {
				a, b := n.duel(fmt.Sprint("d", i))
				together(func() { a.play(nil) }, func() { b.play(nil) })
				n.checkSameFrames(a, b, 2)
				for _, p := range []*player{a, b} {
					if len(p.answeredQuestions) != 2 {
						t.Errorf("%s: %d answers were answered for", p.name, len(p.answeredQuestions))
					}
					p.disconnect()
				}
			}
		})
	}
	go func() { // ends when all duels are taken
		defer close(next)
		for i := range duels {
			next <- i
		}
	}()
	together(play...)
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	a, b := n.duel("d")
	found := a.expect(protocol.TypeMatchFound).Match
	answer := func(question, choice int) {
		t.Helper()
		a.ask(protocol.TypeAnswer, map[string]any{"match": found, "question": question, "choice": choice})
	}
	a.expect(protocol.TypeQuestion)
	answer(1, 0)
	a.expectError(protocol.CodeQuestionNotOpen)
	answer(7, 0)
	a.expectError(protocol.CodeBadRequest)
	answer(0, 9)
	a.expectError(protocol.CodeInvalidAnswer)
	answer(0, 1)
	first := a.reply(protocol.TypeAnswered)
	a.expect(protocol.TypeAnswerSeen)
	answer(0, 1)
	if again := a.reply(protocol.TypeAnswered); string(again.Data) != string(first.Data) {
		t.Errorf("%s, at first %s", again.raw, first.raw)
	}
	answer(0, 0)
	if e := a.expectError(protocol.CodeDuplicateAnswer); e.Accepted == nil || string(e.Accepted.Given) != `{"choice":1}` {
		t.Errorf("accepted %+v", e.Accepted)
	}
	b.until(protocol.TypeQuestion)
	b.ask(protocol.TypeAnswer, map[string]any{"match": found, "question": 0, "choice": 0})
	b.until(protocol.TypeAnswered)
	a.until(protocol.TypeQuestionClosed)
	answer(0, 1)
	if again := a.until(protocol.TypeAnswered); string(again.Data) != string(first.Data) {
		t.Errorf("after the close %s, at first %s", again.raw, first.raw)
	}
	a.ask(protocol.TypeDuelJoin, protocol.Empty{})
	if e := a.checkError(a.untilReply(), protocol.CodeAlreadyPlaying); e.Match != found {
		t.Errorf("playing %q, not %q", e.Match, found)
	}
}

// The leaving player gets the reply before the match is over, and the other player gets
// the end of the match.
func TestMatchLeave(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	a, b := n.duel("d")
	found := a.expect(protocol.TypeMatchFound).Match
	a.expect(protocol.TypeQuestion)
	a.ask(protocol.TypeMatchLeave, protocol.MatchLeave{Match: found})
	a.reply(protocol.TypeMatchLeft)
	var over protocol.MatchOver
	a.expect(protocol.TypeMatchOver).into(t, &over)
	if over.Reason != "forfeit" || over.Winner != b.name {
		t.Errorf("over: %+v", over)
	}
	b.until(protocol.TypeMatchOver).into(t, &over)
	if over.Winner != b.name {
		t.Errorf("over for the other: %+v", over)
	}
	a.ask(protocol.TypeMatchLeave, protocol.MatchLeave{Match: found}) // leaving once more changes nothing
	a.reply(protocol.TypeMatchLeft)
}

// A client can ask for the state at any time, and gets no push twice.
func TestMatchSync(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	a, _ := n.duel("d")
	found := a.expect(protocol.TypeMatchFound)
	question := a.expect(protocol.TypeQuestion)
	var s protocol.MatchState
	a.ask(protocol.TypeMatchSync, protocol.Resume{Match: found.Match, Seq: 2})
	a.reply(protocol.TypeMatchState).into(t, &s)
	if s.Seq != 2 || s.Phase != "open" || s.Question == nil || s.Question.Question != 0 || s.YourAnswer != nil {
		t.Errorf("state %+v", s)
	}
	a.ask(protocol.TypeAnswer, map[string]any{"match": found.Match, "question": 0, "choice": 0})
	a.reply(protocol.TypeAnswered)
	seen := a.expect(protocol.TypeAnswerSeen)
	a.ask(protocol.TypeMatchSync, protocol.Resume{Match: found.Match})
	a.reply(protocol.TypeMatchState).into(t, &s)
	if s.Seq != 3 || s.YourAnswer == nil || s.YourAnswer.Question != 0 || s.Own.Score != 0 {
		t.Errorf("state %+v", s)
	}
	a.expectFrames([][]byte{found.raw, question.raw, seen.raw})
	a.expectPong()
}

// A bot plays if no opponent joins.
func TestBot(t *testing.T) {
	t.Parallel()
	n := startNode(t, func(_ *Config, d *lobby.Duel) { d.Questions, d.LimitMS = 1, 300 })
	c := n.enter("ada")
	c.ask(protocol.TypeDuelJoin, map[string]any{"bot_after_ms": 1})
	c.reply(protocol.TypeDuelQueued)
	var found protocol.MatchFound
	c.expect(protocol.TypeMatchFound).into(t, &found)
	if len(found.Seats) != 2 || found.Seats[0].Bot == found.Seats[1].Bot {
		t.Errorf("seats %+v", found.Seats)
	}
	c.until(protocol.TypeMatchOver)
}
