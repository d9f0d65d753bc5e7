package ws

import (
	"fmt"
	"testing"

	"laststand/internal/lobby"
	"laststand/internal/protocol"
)

func shortDuels(_ *Config, d *lobby.Duel) { d.Questions, d.LimitMS = 2, 60_000 }

// Both answer at once, 200 times over: everyone's reply comes before the push
// that it caused, numbers have no gap, and both see the same bytes. Few duels go
// on at once: the embedded Redis runs one script at a time, on a machine with ten
// times too much to do in some 50 ms, and more callers than that leaves room for
// within their 2 s give up over and over, while what they asked for is still run.
func TestDuels(t *testing.T) {
	t.Parallel()
	n := start(t, shortDuels)
	const duels, atOnce = 200, 4
	next := make(chan int)
	var play []func()
	for range atOnce {
		play = append(play, func() {
			for i := range next {
				a, b := n.duel(fmt.Sprint("d", i))
				together(func() { a.play(nil) }, func() { b.play(nil) })
				n.alike(a, b, 2)
				for _, p := range []*player{a, b} {
					if len(p.acked) != 2 {
						t.Errorf("%s: %d answers were answered for", p.name, len(p.acked))
					}
					p.cut()
				}
			}
		})
	}
	go func() { // ends when all duels were taken
		defer close(next)
		for i := range duels {
			next <- i
		}
	}()
	together(play...)
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	n := start(t)
	a, b := n.duel("d")
	found := a.expect(protocol.TypeMatchFound).Match
	answer := func(question, choice int) {
		t.Helper()
		a.ask(protocol.TypeAnswer, map[string]any{"match": found, "question": question, "choice": choice})
	}
	a.expect(protocol.TypeQuestion)
	answer(1, 0)
	a.refused(protocol.CodeQuestionNotOpen)
	answer(7, 0)
	a.refused(protocol.CodeBadRequest)
	answer(0, 9)
	a.refused(protocol.CodeInvalidAnswer)
	answer(0, 1)
	first := a.reply(protocol.TypeAnswered)
	a.expect(protocol.TypeAnswerSeen)
	answer(0, 1)
	if again := a.reply(protocol.TypeAnswered); string(again.Data) != string(first.Data) {
		t.Errorf("%s, at first %s", again.raw, first.raw)
	}
	answer(0, 0)
	if e := a.refused(protocol.CodeDuplicateAnswer); e.Accepted == nil || string(e.Accepted.Given) != `{"choice":1}` {
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
	if e := a.refusal(a.untilReply(), protocol.CodeAlreadyPlaying); e.Match != found {
		t.Errorf("playing %q, not %q", e.Match, found)
	}
}

// Who leaves is told so before the match is over, and so is the other.
func TestMatchLeave(t *testing.T) {
	t.Parallel()
	n := start(t)
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
	a.ask(protocol.TypeMatchLeave, protocol.MatchLeave{Match: found}) // once more changes nothing
	a.reply(protocol.TypeMatchLeft)
}

// A state can be asked for at any time; what follows it is not told twice.
func TestMatchSync(t *testing.T) {
	t.Parallel()
	n := start(t)
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
	a.replays([][]byte{found.raw, question.raw, seen.raw})
	a.alive()
}

// A bot plays where nobody comes.
func TestBot(t *testing.T) {
	t.Parallel()
	n := start(t, func(_ *Config, d *lobby.Duel) { d.Questions, d.LimitMS = 1, 300 })
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
