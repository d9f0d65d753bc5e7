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
func (n *node) reconnectAndResume(p *player) {
	n.Helper()
	lastSeq := int64(len(p.frameLog))
	c, welcome := n.connectAndResume(p.name, &protocol.Resume{Match: p.match, Seq: lastSeq})
	p.client, p.sentAnswers = c, map[int64]int{}
	if welcome.Playing != nil && welcome.Playing.Match != p.match {
		n.Errorf("playing %+v, not %s", welcome.Playing, p.match)
	}
	var state protocol.MatchState
	p.expectReply(protocol.TypeMatchState).decodeInto(p.T, &state)
	if state.Seq < lastSeq || welcome.Playing != nil && state.Seq < welcome.Playing.Seq {
		n.Errorf("state at %d, seen %d, welcome %+v", state.Seq, lastSeq, welcome.Playing)
	}
	if state.YourAnswer != nil {
		p.answeredQuestions[state.YourAnswer.Question] = true
	}
	if state.Question != nil && state.Phase == "open" && state.YourAnswer == nil {
		p.answer(state.Question.Question)
	}
	for number := lastSeq; number < state.Seq; number++ {
		f := p.nextFrame()
		if f.Seq != number+1 || f.Match != p.match {
			p.failNow("%s: %s instead of number %d of %s", p.name, f.raw, number+1, p.match)
		}
		p.handleReplayed(f)
	}
}

// handleReplayed records a push that was missed. Its question is over, or
// reconnectAndResume has answered it.
func (p *player) handleReplayed(f frame) {
	p.frameLog = append(p.frameLog, f.raw)
	p.over = p.over || f.Type == protocol.TypeMatchOver
}

// A client can resume a match that is over after every number: it gets the state, then
// all missed pushes in the same bytes.
func TestResumeAfterEveryNumber(t *testing.T) {
	n := startParallel(t)
	playerA, playerB := n.startDuel("d")
	runConcurrently(func() { playerA.play(nil) }, func() { playerB.play(nil) })
	n.checkSameFrames(playerA, playerB, duel.Questions)
	last := int64(len(playerA.frameLog))
	for lastSeq := range last + 1 {
		c, welcome := n.connectAndResume(playerA.name, &protocol.Resume{Match: playerA.match, Seq: lastSeq})
		if welcome.Playing != nil {
			t.Errorf("playing %+v after the end", welcome.Playing)
		}
		c.expectOverState(last)
		c.expectFrames(playerA.frameLog[lastSeq:])
		c.sendRequest(protocol.TypeMatchSync, protocol.Resume{Match: playerA.match, Seq: lastSeq})
		c.expectOverState(last)
		c.expectFrames(playerA.frameLog[lastSeq:])
		c.expectPong()
	}
}

// expectOverState reads the state of a match that is over.
func (c *client) expectOverState(seq int64) {
	c.Helper()
	var state protocol.MatchState
	c.expectReply(protocol.TypeMatchState).decodeInto(c.T, &state)
	if state.Seq != seq || state.Phase != "over" || len(state.Scores) != 2 || state.Own.Score == 0 {
		c.failNow("state %+v", state)
	}
}

func (c *client) expectFrames(frames [][]byte) {
	c.Helper()
	for _, want := range frames {
		if got := c.nextFrame(); !bytes.Equal(got.raw, want) {
			c.failNow("%s\ninstead of\n%s", got.raw, want)
		}
	}
}

// The client disconnects at any moment, by itself or through its newer connection,
// while frames are under way.
func TestDisconnectAnywhere(t *testing.T) {
	n := startParallel(t)
	for i := range 20 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			playerA, playerB := n.startDuel(fmt.Sprint("d", i))
			playerA.mayLoseReplies = true
			first := playerA.nextFrame() // so that there is a match to resume
			playerA.handle(first)
			runConcurrently(func() { playerB.play(nil) }, func() {
				for cuts := 0; !playerA.over; cuts++ {
					former := playerA.client
					if cuts < 10 && cuts%2 == 0 {
						time.AfterFunc(rand.N(30*time.Millisecond), former.disconnect) // the client disconnects by itself
					}
					framesLeft := rand.N(4) + 1
					playerA.play(func(frame) bool { framesLeft--; return framesLeft == 0 && cuts < 10 })
					if !playerA.over {
						n.reconnectAndResume(playerA)
					}
				}
			})
			n.checkSameFrames(playerA, playerB, duel.Questions)
		})
	}
}

// A resume of a match without a seat is refused and changes nothing. The player's own match
// continues.
func TestResumingForeignMatchIsRefused(t *testing.T) {
	n := startParallel(t)
	playerA, playerB := n.startDuel("d")
	found := playerA.expectFrame(protocol.TypeMatchFound)
	for _, resume := range []protocol.Resume{{Match: found.Match}, {Match: "m_none", Seq: 3}, {Match: ""}} {
		c, welcome := n.connectAndResume("eve", &resume)
		if welcome.Playing != nil {
			t.Errorf("playing %+v", welcome.Playing)
		}
		c.expectError(protocol.CodeNotInMatch)
		c.requestRefused(protocol.TypeMatchSync, resume, protocol.CodeNotInMatch)
		c.sendRequest(protocol.TypeAnswer, map[string]any{"match": resume.Match, "question": "x"}) // this error comes before bad_request
		c.expectError(protocol.CodeNotInMatch)
		c.expectPong()
	}
	playerB.match = found.Match
	for question, resume := range []protocol.Resume{{Match: "m_none"}, {Match: found.Match, Seq: -1}} {
		c, welcome := n.connectAndResume(playerA.name, &resume)
		if welcome.Playing == nil || welcome.Playing.Match != found.Match || welcome.Playing.Seq < 1 {
			t.Fatalf("playing %+v", welcome.Playing)
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
