package main

import (
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/checker"
	player "laststand/loadtest/players"
)

// newDuelClient connects a new guest of a game.
func newDuelClient(t *testing.T, url, game string) *matchClient {
	t.Helper()
	g := testenv.Need(player.CreateGuest(t.Context(), url, game, ""))(t)
	c := newMatchClient(t, url, g)
	c.key = newAnswerKey(t)
	return c
}

// duelPair are two players who duel.
type duelPair [2]*matchClient

func (d duelPair) each(do func(c *matchClient)) {
	for _, c := range d {
		do(c)
	}
}

// startDuel starts a duel between two new players of a game.
func startDuel(t *testing.T, firstURL, secondURL, game string) duelPair {
	t.Helper()
	return pairUp(t, newDuelClient(t, firstURL, game), newDuelClient(t, secondURL, game)).waitForMatch(t)
}

// pairUp pairs two players who are alone in their game's lobby. The second player is paired when
// joining. The node of the first player finds the match when it polls.
func pairUp(t *testing.T, first, second *matchClient) duelPair {
	t.Helper()
	duel := duelPair{first, second}
	duel.each(func(c *matchClient) { c.joinQueue(t) })
	second.readUntilPush(t, protocol.TypeMatchFound)
	return duel
}

// waitForMatch waits until both clients got match.found.
func (d duelPair) waitForMatch(t *testing.T) duelPair {
	t.Helper()
	d.each(func(c *matchClient) {
		if c.seq == 0 {
			c.readUntilPush(t, protocol.TypeMatchFound)
		}
	})
	return d
}

// joinQueue joins the queue for an opponent.
func (c *matchClient) joinQueue(t *testing.T) {
	t.Helper()
	if f := c.request(t, protocol.TypeDuelJoin, protocol.DuelJoin{Lang: "en"}); f.Type != protocol.TypeDuelQueued {
		t.Fatalf("joining was answered with %s", f.Raw)
	}
}

// withoutMatch returns a client for the next match of the same player on the same connection.
func (c *matchClient) withoutMatch() *matchClient {
	return &matchClient{
		Player: c.Player, id: c.id, key: c.key,
		answers: map[int]protocol.Answered{}, refused: map[int]protocol.Error{}, questionByRequest: map[int64]int{},
	}
}

// readUntil handles frames until the expected frame arrives.
func (c *matchClient) readUntil(t *testing.T, description string, isWanted func(checker.Frame) bool) checker.Frame {
	t.Helper()
	for {
		f, err := c.Read(30 * time.Second)
		if err == nil {
			err = c.handleFrame(f)
		}
		if err != nil {
			t.Fatalf("%s waited for %s: %v", c.id, description, err)
		}
		if isWanted(f) {
			return f
		}
	}
}

// readUntilPush handles frames until a push of a kind arrives.
func (c *matchClient) readUntilPush(t *testing.T, kind string) checker.Frame {
	t.Helper()
	return c.readUntil(t, kind, func(f checker.Frame) bool { return f.Type == kind })
}

// request sends a request and handles frames until its reply arrives.
func (c *matchClient) request(t *testing.T, kind string, data any) checker.Frame {
	t.Helper()
	id := testenv.Need(c.Send(kind, data))(t)
	return c.readReplyTo(t, id)
}

func (c *matchClient) readReplyTo(t *testing.T, id int64) checker.Frame {
	t.Helper()
	return c.readUntil(t, "a reply", func(f checker.Frame) bool { return f.Re != nil && *f.Re == id })
}

// submit sends an answer to the latest question, and returns the request's id.
func (c *matchClient) submit(t *testing.T, right bool) int64 {
	t.Helper()
	q := c.asked[len(c.asked)-1]
	id, err := c.send(protocol.Answer{Match: c.match, Question: &q.Question, Given: c.key.answer(q, right)})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// submitAndRead answers the latest question. The server must accept the answer.
func (c *matchClient) submitAndRead(t *testing.T, right bool) protocol.Answered {
	t.Helper()
	return decodeAnswered(t, c.readReplyTo(t, c.submit(t, right)))
}

// reconnect cuts the connection and resumes the match at a node.
func (c *matchClient) reconnect(t *testing.T, url string) (state protocol.MatchState) {
	t.Helper()
	_ = c.Close()
	c.resume(t, url)
	readData(t, c.readUntilPush(t, protocol.TypeMatchState), &state)
	return state
}

// resume opens another connection, with a hello that has the last push number that the client got.
func (c *matchClient) resume(t *testing.T, url string) {
	t.Helper()
	p, err := player.Connect(t.Context(), url, c.Guest, &protocol.Resume{Match: c.match, Seq: c.seq})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	c.Player, c.questionByRequest = p, map[int64]int{}
}

// playToEnd answers the open questions and all later ones for the players, until their matches
// are over. For players with waitForSettled it also waits until the match is settled.
func playToEnd(t *testing.T, clients ...*matchClient) {
	t.Helper()
	var group errgroup.Group
	for i, c := range clients {
		c.plan = func(question int) (right, silent bool) { return (question+i)%2 == 0, false }
		if n := len(c.asked); n > len(c.closed) && !c.hasAnswered(n-1) {
			c.submit(t, true)
		}
		group.Go(c.play)
	}
	testenv.NoError(t, group.Wait())
}

func (c *matchClient) hasAnswered(question int) bool {
	_, ok := c.answers[question]
	return ok
}
