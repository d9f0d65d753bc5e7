package ws

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"laststand/internal/protocol"
)

// reconnectAndResume connects the player again and resumes after the last number seen. It checks
// that the state comes first, and answers an open question.
func (n *node) reenter(p *player) {
	n.Helper()
	seen := int64(len(p.log))
	c, w := n.resume(p.name, &protocol.Resume{Match: p.match, Seq: seen})
	p.client, p.sentAnswers = c, map[int64]int{}
	if w.Playing != nil && w.Playing.Match != p.match {
		n.Errorf("playing %+v, not %s", w.Playing, p.match)
	}
	var s protocol.MatchState
	p.expectReply(protocol.TypeMatchState).decodeInto(p.T, &s)
	if s.Seq < seen || w.Playing != nil && s.Seq < w.Playing.Seq {
		n.Errorf("state at %d, seen %d, welcome %+v", s.Seq, seen, w.Playing)
	}
	if s.YourAnswer != nil {
		p.answeredQuestions[s.YourAnswer.Question] = true
	}
	if s.Question != nil && s.Phase == "open" && s.YourAnswer == nil {
		p.answer(s.Question.Question)
	}
	for number := seen; number < s.Seq; number++ {
		f := p.nextFrame()
		if f.Seq != number+1 || f.Match != p.match {
			p.fail("%s: %s instead of number %d of %s", p.name, f.raw, number+1, p.match)
		}
		p.handleReplayed(f)
	}
}

// handleReplayed records a push that was missed. Its question is over, or
// reconnectAndResume has answered it.
func (p *player) handleReplayed(f frame) {
	p.log = append(p.log, f.raw)
	p.over = p.over || f.Type == protocol.TypeMatchOver
}

// A client can resume a match that is over after every number: it gets the state, then
// all missed pushes in the same bytes.
func TestResumeAfterEveryNumber(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	playerA, playerB := n.duel("d")
	runConcurrently(func() { playerA.play(nil) }, func() { playerB.play(nil) })
	n.checkSameFrames(playerA, playerB, duel.Questions)
	last := int64(len(playerA.log))
	for seen := range last + 1 {
		c, w := n.resume(playerA.name, &protocol.Resume{Match: playerA.match, Seq: seen})
		if w.Playing != nil {
			t.Errorf("playing %+v after the end", w.Playing)
		}
		c.expectOverState(last)
		c.expectFrames(playerA.log[seen:])
		c.sendRequest(protocol.TypeMatchSync, protocol.Resume{Match: playerA.match, Seq: seen})
		c.expectOverState(last)
		c.expectFrames(playerA.log[seen:])
		c.expectPong()
	}
}

// expectOverState reads the state of a match that is over.
func (c *client) expectOverState(seq int64) {
	c.Helper()
	var s protocol.MatchState
	c.expectReply(protocol.TypeMatchState).decodeInto(c.T, &s)
	if s.Seq != seq || s.Phase != "over" || len(s.Scores) != 2 || s.Own.Score == 0 {
		c.fail("state %+v", s)
	}
}

func (c *client) expectFrames(frames [][]byte) {
	c.Helper()
	for _, want := range frames {
		if got := c.nextFrame(); !bytes.Equal(got.raw, want) {
			c.fail("%s\ninstead of\n%s", got.raw, want)
		}
	}
}

// A client that disconnects at any number of a running match and resumes misses nothing
// and gets nothing twice.
func TestDisconnectAtEveryNumber(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	for cut := 1; cut < 2+4*duel.Questions; cut++ {
		t.Run(fmt.Sprint(cut), func(t *testing.T) {
			t.Parallel()
			playerA, playerB := n.duel(fmt.Sprint("d", cut))
			playerA.lossy = true
			runConcurrently(func() { playerB.play(nil) }, func() {
				playerA.play(func(f frame) bool { return f.Seq == int64(cut) })
				playerA.disconnect()
				n.reenter(playerA)
				playerA.play(nil)
			})
			n.checkSameFrames(playerA, playerB, duel.Questions)
		})
	}
}

// The client disconnects at any moment, by itself or through its newer connection,
// while frames are under way.
func TestDisconnectAnywhere(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	for i := range 20 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			playerA, playerB := n.duel(fmt.Sprint("d", i))
			playerA.lossy = true
			first := playerA.nextFrame() // so that there is a match to resume
			playerA.handle(first)
			runConcurrently(func() { playerB.play(nil) }, func() {
				for cuts := 0; !playerA.over; cuts++ {
					former := playerA.client
					if cuts < 10 && cuts%2 == 0 {
						time.AfterFunc(rand.N(30*time.Millisecond), former.disconnect) // the client disconnects by itself
					}
					left := rand.N(4) + 1
					playerA.play(func(frame) bool { left--; return left == 0 && cuts < 10 })
					if !playerA.over {
						n.reenter(playerA)
					}
				}
			})
			n.checkSameFrames(playerA, playerB, duel.Questions)
		})
	}
}

// A resume of a match without a seat is refused and changes nothing. The player's own match
// continues.
func TestResumingAMatchOfOthersIsRefused(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	playerA, playerB := n.duel("d")
	found := playerA.expectFrame(protocol.TypeMatchFound)
	for _, from := range []protocol.Resume{{Match: found.Match}, {Match: "m_none", Seq: 3}, {Match: ""}} {
		c, w := n.resume("eve", &from)
		if w.Playing != nil {
			t.Errorf("playing %+v", w.Playing)
		}
		c.expectError(protocol.CodeNotInMatch)
		c.sendRequest(protocol.TypeMatchSync, from)
		c.expectError(protocol.CodeNotInMatch)
		c.sendRequest(protocol.TypeAnswer, map[string]any{"match": from.Match, "question": "x"}) // this error comes before bad_request
		c.expectError(protocol.CodeNotInMatch)
		c.expectPong()
	}
	playerB.match = found.Match
	for question, from := range []protocol.Resume{{Match: "m_none"}, {Match: found.Match, Seq: -1}} {
		c, w := n.resume(playerA.name, &from)
		if w.Playing == nil || w.Playing.Match != found.Match || w.Playing.Seq < 1 {
			t.Fatalf("playing %+v", w.Playing)
		}
		c.expectReply(protocol.TypeError)
		playerB.readUntil(protocol.TypeQuestion)
		playerB.answer(question)
		c.readUntil(protocol.TypeAnswerSeen)
		c.sendRequest(protocol.TypeAnswer, map[string]any{"match": found.Match, "question": question, "choice": 0})
		if f := c.readUntilReply(); f.Type != protocol.TypeAnswered {
			t.Errorf("%s", f.raw)
		}
	}
}
