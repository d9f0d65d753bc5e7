package ws

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"laststand/internal/protocol"
)

// reenter connects the player again and resumes after the last number seen. It
// checks that the state comes first, and answers what is open.
func (n *node) reenter(p *player) {
	n.Helper()
	seen := int64(len(p.log))
	c, w := n.resume(p.name, &protocol.Resume{Match: p.match, Seq: seen})
	p.client, p.asked = c, map[int64]int{}
	if w.Playing != nil && w.Playing.Match != p.match {
		n.Errorf("playing %+v, not %s", w.Playing, p.match)
	}
	var s protocol.MatchState
	p.reply(protocol.TypeMatchState).into(p.T, &s)
	if s.Seq < seen || w.Playing != nil && s.Seq < w.Playing.Seq {
		n.Errorf("state at %d, seen %d, welcome %+v", s.Seq, seen, w.Playing)
	}
	if s.YourAnswer != nil {
		p.acked[s.YourAnswer.Question] = true
	}
	if s.Question != nil && s.Phase == "open" && s.YourAnswer == nil {
		p.answer(s.Question.Question)
	}
	for number := seen; number < s.Seq; number++ {
		f := p.next()
		if f.Seq != number+1 || f.Match != p.match {
			p.fail("%s: %s instead of number %d of %s", p.name, f.raw, number+1, p.match)
		}
		p.replayed(f)
	}
}

// replayed takes a push that was missed: what was asked is over, or open and
// answered by the state.
func (p *player) replayed(f frame) {
	p.log = append(p.log, f.raw)
	p.over = p.over || f.Type == protocol.TypeMatchOver
}

// Resuming a match that is over, after every number of it: the state first,
// then all that was missed, in the same bytes.
func TestResumeAfterEveryNumber(t *testing.T) {
	t.Parallel()
	n := start(t)
	a, b := n.duel("d")
	together(func() { a.play(nil) }, func() { b.play(nil) })
	n.alike(a, b, duel.Questions)
	last := int64(len(a.log))
	for seen := range last + 1 {
		c, w := n.resume(a.name, &protocol.Resume{Match: a.match, Seq: seen})
		if w.Playing != nil {
			t.Errorf("playing %+v after the end", w.Playing)
		}
		c.stands(last)
		c.replays(a.log[seen:])
		c.ask(protocol.TypeMatchSync, protocol.Resume{Match: a.match, Seq: seen})
		c.stands(last)
		c.replays(a.log[seen:])
		c.alive()
	}
}

// stands reads the state of a match that is over.
func (c *client) stands(seq int64) {
	c.Helper()
	var s protocol.MatchState
	c.reply(protocol.TypeMatchState).into(c.T, &s)
	if s.Seq != seq || s.Phase != "over" || len(s.Scores) != 2 || s.Own.Score == 0 {
		c.fail("state %+v", s)
	}
}

func (c *client) replays(frames [][]byte) {
	c.Helper()
	for _, want := range frames {
		if got := c.next(); !bytes.Equal(got.raw, want) {
			c.fail("%s\ninstead of\n%s", got.raw, want)
		}
	}
}

// Cut off at every number of a running match, and back: nothing is missing,
// nothing comes twice.
func TestCutAtEveryNumber(t *testing.T) {
	t.Parallel()
	n := start(t)
	for cut := 1; cut < 2+4*duel.Questions; cut++ {
		t.Run(fmt.Sprint(cut), func(t *testing.T) {
			t.Parallel()
			a, b := n.duel(fmt.Sprint("d", cut))
			a.cuts = true
			together(func() { b.play(nil) }, func() {
				a.play(func(f frame) bool { return f.Seq == int64(cut) })
				a.cut()
				n.reenter(a)
				a.play(nil)
			})
			n.alike(a, b, duel.Questions)
		})
	}
}

// Cut off at any moment, by the client or by its own newer connection, while
// frames fly.
func TestCutAnywhere(t *testing.T) {
	t.Parallel()
	n := start(t)
	for i := range 20 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			a, b := n.duel(fmt.Sprint("d", i))
			a.cuts = true
			first := a.next() // there is a match to come back to
			a.handle(first)
			together(func() { b.play(nil) }, func() {
				for cuts := 0; !a.over; cuts++ {
					former := a.client
					if cuts < 10 && cuts%2 == 0 {
						time.AfterFunc(rand.N(30*time.Millisecond), former.cut) // the client's doing
					}
					left := rand.N(4) + 1
					a.play(func(frame) bool { left--; return left == 0 && cuts < 10 })
					if !a.over {
						n.reenter(a)
					}
				}
			})
			n.alike(a, b, duel.Questions)
		})
	}
}

// Resuming what is not the player's is refused and changes nothing; a match
// that is the player's goes on by itself.
func TestResumeWithoutASeat(t *testing.T) {
	t.Parallel()
	n := start(t)
	a, b := n.duel("d")
	found := a.expect(protocol.TypeMatchFound)
	for _, from := range []protocol.Resume{{Match: found.Match}, {Match: "m_none", Seq: 3}, {Match: ""}} {
		c, w := n.resume("eve", &from)
		if w.Playing != nil {
			t.Errorf("playing %+v", w.Playing)
		}
		c.refused(protocol.CodeNotInMatch)
		c.ask(protocol.TypeMatchSync, from)
		c.refused(protocol.CodeNotInMatch)
		c.ask(protocol.TypeAnswer, map[string]any{"match": from.Match, "question": "x"}) // comes before bad_request
		c.refused(protocol.CodeNotInMatch)
		c.alive()
	}
	b.match = found.Match
	for question, from := range []protocol.Resume{{Match: "m_none"}, {Match: found.Match, Seq: -1}} {
		c, w := n.resume(a.name, &from)
		if w.Playing == nil || w.Playing.Match != found.Match || w.Playing.Seq < 1 {
			t.Fatalf("playing %+v", w.Playing)
		}
		c.reply(protocol.TypeError)
		b.until(protocol.TypeQuestion)
		b.answer(question)
		c.until(protocol.TypeAnswerSeen)
		c.ask(protocol.TypeAnswer, map[string]any{"match": found.Match, "question": question, "choice": 0})
		if f := c.untilReply(); f.Type != protocol.TypeAnswered {
			t.Errorf("%s", f.raw)
		}
	}
}
