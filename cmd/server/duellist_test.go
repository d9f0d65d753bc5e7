package main

import (
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"laststand/internal/protocol"
	"laststand/loadtest/player"
)

// stranger is a new guest of a game, connected.
func stranger(t *testing.T, url, game string) *contestant {
	t.Helper()
	g, err := player.NewGuest(t.Context(), url, game, "")
	if err != nil {
		t.Fatal(err)
	}
	c := attend(t, url, g)
	c.solve = newSolver(t)
	return c
}

// duelling are two players who duel.
type duelling [2]*contestant

func (d duelling) each(do func(c *contestant)) {
	for _, c := range d {
		do(c)
	}
}

// meet has two players find each other, who are alone in their game's lobby: the
// second finds the first. The first hears of it when its node looks.
func meet(t *testing.T, first, second *contestant) duelling {
	t.Helper()
	d := duelling{first, second}
	d.each(func(c *contestant) { c.queue(t) })
	second.until(t, protocol.TypeMatchFound)
	return d
}

// begun has both hear of their match.
func (d duelling) begun(t *testing.T) duelling {
	t.Helper()
	d.each(func(c *contestant) {
		if c.seq == 0 {
			c.until(t, protocol.TypeMatchFound)
		}
	})
	return d
}

// queue waits for an opponent.
func (c *contestant) queue(t *testing.T) {
	t.Helper()
	if f := c.request(t, protocol.TypeDuelJoin, protocol.DuelJoin{Lang: "en"}); f.Type != protocol.TypeDuelQueued {
		t.Fatalf("joining was answered with %s", f.Raw)
	}
}

// again is the same player at the same connection, with a match ahead.
func (c *contestant) again() *contestant {
	return &contestant{
		Player: c.Player, id: c.id, solve: c.solve,
		told: map[int]protocol.Answered{}, refused: map[int]protocol.Error{}, sent: map[int64]int{},
	}
}

// await takes what comes until a frame is the one waited for.
func (c *contestant) await(t *testing.T, what string, is func(player.Frame) bool) player.Frame {
	t.Helper()
	for {
		f, err := c.Read(30 * time.Second)
		if err == nil {
			err = c.take(f)
		}
		if err != nil {
			t.Fatalf("%s waits for %s: %v", c.id, what, err)
		}
		if is(f) {
			return f
		}
	}
}

// until takes what comes until a push of a kind.
func (c *contestant) until(t *testing.T, kind string) player.Frame {
	t.Helper()
	return c.await(t, kind, func(f player.Frame) bool { return f.Type == kind })
}

// request sends a request and takes what comes until its reply.
func (c *contestant) request(t *testing.T, kind string, data any) player.Frame {
	t.Helper()
	id, err := c.Send(kind, data)
	if err != nil {
		t.Fatal(err)
	}
	return c.replyTo(t, id)
}

func (c *contestant) replyTo(t *testing.T, id int64) player.Frame {
	t.Helper()
	return c.await(t, "a reply", func(f player.Frame) bool { return f.Re != nil && *f.Re == id })
}

// submit sends an answer to the question asked last, and gives the request's id.
func (c *contestant) submit(t *testing.T, right bool) int64 {
	t.Helper()
	q := c.asked[len(c.asked)-1]
	id, err := c.Send(protocol.TypeAnswer, protocol.Answer{Match: c.match, Question: &q.Question, Given: c.solve.answer(q, right)})
	if err != nil {
		t.Fatal(err)
	}
	c.sent[id] = q.Question
	return id
}

// reply answers the question asked last, and is taken at its word.
func (c *contestant) reply(t *testing.T, right bool) protocol.Answered {
	t.Helper()
	return answered(t, c.replyTo(t, c.submit(t, right)))
}

// comeBack cuts the connection and resumes the match at a node.
func (c *contestant) comeBack(t *testing.T, url string) (state protocol.MatchState) {
	t.Helper()
	_ = c.Close()
	c.resume(t, url)
	read(t, c.until(t, protocol.TypeMatchState), &state)
	return state
}

// resume opens another connection, with hello and what was seen so far.
func (c *contestant) resume(t *testing.T, url string) {
	t.Helper()
	p, err := player.Connect(t.Context(), url, c.Guest, &protocol.Resume{Match: c.match, Seq: c.seq})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	c.Player, c.sent = p, map[int64]int{}
}

// playOn has players answer what they are asked from now on, and first what is
// open, until their matches are over, and settled for those who wait for it.
func playOn(t *testing.T, all ...*contestant) {
	t.Helper()
	var group errgroup.Group
	for i, c := range all {
		c.plan = func(question int) (right, silent bool) { return (question+i)%2 == 0, false }
		if n := len(c.asked); n > len(c.closed) && !c.answeredTo(n-1) {
			c.submit(t, true)
		}
		group.Go(c.play)
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

func (c *contestant) answeredTo(question int) bool {
	_, ok := c.told[question]
	return ok
}
