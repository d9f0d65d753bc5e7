package match

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"laststand/internal/protocol"
)

// playthrough is a match without nodes. Random operations are applied to it in
// any order, and an oracle follows them.
type playthrough struct {
	*rapid.T
	plan   *Plan
	store  *memoryStore
	oracle *oracle
	now    int64
	tries  int
	stale  View // the view of a stalled node

	frames   int // frames of the log that were checked
	extended int // last extended question, -1 for none
	closesAt int64
	reveals  map[string]int64 // scores at the last reveal
}

// Players, hosts and nodes do random operations, also late ones. The match ends and
// skips no question. All its pushes agree with the contract.
func TestAnyPlaythrough(t *testing.T) {
	t.Parallel()
	for _, mode := range []Mode{Duel, Buzzer, Survival} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				c := newPlaythrough(rt, mode)
				rt.Repeat(c.moves())
				c.playOn()
				c.checkEnd()
			})
		})
	}
}

// newPlaythrough returns a match in its countdown. The number of its players is
// around FullListPlayers.
func newPlaythrough(rt *rapid.T, mode Mode) *playthrough {
	questions := rapid.IntRange(1, 4).Draw(rt, "questions")
	c := &playthrough{T: rt, store: newMemoryStore(), extended: -1, reveals: map[string]int64{}}
	if mode == Duel {
		c.plan = newPlan("m_1", 3000, questions)
		c.oracle = newOracle(mode, c.plan.LimitMS)
		c.oracle.players[ada], c.oracle.players[bob] = &playerTotals{}, &playerTotals{}
		first := State{Phase: Countdown, Question: -1, LastDecided: -1, StartsAt: 3000, DueAt: 3000, Players: 2, Alive: 2}
		found := newPush(c.plan, protocol.TypeMatchFound, foundView(c.plan, View{State: first}))
		c.create(first, &found)
		return c
	}
	c.plan = newArena(mode, questions, [][]string{nil, {"red", "blue"}}[rapid.IntRange(0, 1).Draw(rt, "teams")]...)
	c.plan.Arena.HostPaced = rapid.Bool().Draw(rt, "host paced")
	c.oracle = newOracle(mode, c.plan.LimitMS)
	c.create(State{Phase: Lobby, Question: -1, LastDecided: -1, DueAt: maxLobbyMS, HostPaced: c.plan.Arena.HostPaced}, nil)
	c.gather(rapid.OneOf(rapid.IntRange(1, 4), rapid.IntRange(48, 60)).Draw(rt, "players"))
	return c
}

func (c *playthrough) create(s State, found *protocol.Numbered) {
	for range 2 {
		made, err := c.store.Create(context.Background(), c.plan, s, found)
		if want := c.stale.Version == 0; made != want || err != nil {
			c.Fatalf("made: %v, %v", made, err)
		}
		c.stale = c.view()
	}
}

// gather adds players to an arena and removes some, up to the countdown. A
// player who leaves during the start keeps a seat.
func (c *playthrough) gather(players int) {
	for i := range players {
		seat := c.plan.seatOf(i)
		c.store.addSeat(c.plan.ID, seat)
		c.oracle.players[seat.Player] = &playerTotals{team: seat.Team}
	}
	if players > 1 && rapid.Bool().Draw(c.T, "one goes before") {
		c.store.removePlace(c.plan.ID, c.plan.seatOf(0).Player)
		delete(c.oracle.players, c.plan.seatOf(0).Player)
	}
	c.requestStep(beginStep)
	announcing := c.view()
	if rapid.Bool().Draw(c.T, "one goes while it starts") {
		c.leave(c.plan.seatOf(players - 1).Player)
		c.tick(announcing, 0)
		if c.view().Phase != Starting {
			c.Fatal("it was announced with somebody who had left")
		}
	}
	c.tick(c.view(), 0)
	if v := c.view(); v.Phase != Countdown || v.Alive != int64(c.oracle.remaining()) {
		c.Fatalf("%+v", v.State)
	}
}

func (c *playthrough) view() View {
	q := ReadQuery{Match: c.plan.ID, Players: c.plan.players(), WantListed: c.plan.Arena != nil, After: 0}
	v, err := c.store.Read(context.Background(), q)
	if err != nil {
		c.Fatal(err)
	}
	return v
}

func (c *playthrough) moves() map[string]func(*rapid.T) {
	player := rapid.SampledFrom(slices.Sorted(maps.Keys(c.oracle.players)))
	rarely := func(rt *rapid.T) {
		if rapid.IntRange(0, 7).Draw(rt, "mood") > 0 {
			rt.Skip()
		}
	}
	return map[string]func(*rapid.T){
		"wait":         func(rt *rapid.T) { c.now += rapid.Int64Range(1, 12_000).Draw(rt, "ms") },
		"tick":         func(*rapid.T) { c.tick(c.view(), 0) },
		"tick late":    func(rt *rapid.T) { c.tick(c.view(), rapid.Int64Range(0, 30_000).Draw(rt, "lost")) },
		"tick stalled": func(*rapid.T) { c.tick(c.stale, 0) },
		"tick early":   func(*rapid.T) { c.tickEarly() },
		"stall":        func(*rapid.T) { c.stale = c.view() },
		"answer": func(rt *rapid.T) {
			c.answer(c.view(), player.Draw(rt, "player"), rapid.Bool().Draw(rt, "right"))
		},
		"answer stalled": func(rt *rapid.T) { c.answer(c.stale, player.Draw(rt, "player"), rapid.Bool().Draw(rt, "right")) },
		"most answer": func(rt *rapid.T) {
			c.now += rapid.Int64Range(0, 3000).Draw(rt, "ms")
			c.answerMostly()
		},
		"leave": func(rt *rapid.T) {
			rarely(rt)
			c.leave(player.Draw(rt, "player"))
		},
		"next": func(rt *rapid.T) {
			if c.plan.Arena == nil {
				rt.Skip()
			}
			after := rapid.SampledFrom([]View{c.stale, c.view()}).Draw(rt, "seen").Question
			c.requestStep(func(p *Plan, v View, now int64) (Step, bool) { return proceedStep(p, v, after, now) })
		},
		"shut": func(rt *rapid.T) {
			rarely(rt)
			if c.plan.Arena == nil {
				rt.Skip()
			}
			c.requestStep(closeArenaStep)
		},
		"": func(*rapid.T) { c.checkFrames() },
	}
}

func (c *playthrough) answerMostly() {
	right := rapid.IntRange(0, 9).Draw(c.T, "of ten are right")
	v := c.view()
	for _, player := range slices.Sorted(maps.Keys(c.oracle.players)) {
		if mood := rapid.IntRange(0, 9).Draw(c.T, player); mood > 0 {
			c.answer(v, player, mood <= right)
		}
	}
}

// playOn plays a match to its end.
func (c *playthrough) playOn() {
	for range 8*len(c.plan.Questions) + 8 {
		if c.tick(c.view(), 0); c.view().Phase == Open && len(c.oracle.answers) == 0 {
			c.answerMostly()
			c.tick(c.view(), 0)
		}
		c.now += 90_000
	}
}

// tick applies the step that is due according to a view.
func (c *playthrough) tick(v View, lost int64) {
	if s, due := nextStep(c.plan, v, c.now, lost); due {
		c.applyStep(s)
	}
}

// tickEarly applies a step of a node whose clock is a second ahead.
func (c *playthrough) tickEarly() {
	c.now += 1000
	c.tick(c.view(), 0)
	c.now -= 1000
}

func (c *playthrough) requestStep(wanted stepFunc) {
	if s, ok := wanted(c.plan, c.view(), c.now); ok {
		c.applyStep(s)
	}
}

func (c *playthrough) applyStep(s Step) {
	c.tries++
	s.ID = fmt.Sprint(c.tries)
	before := c.store.state(c.plan.ID)
	first, err := c.store.Step(context.Background(), s)
	if err != nil {
		c.Fatal(err)
	}
	if again, err := c.store.Step(context.Background(), s); err != nil || again.Applied != first.Applied || again.FirstSeq != first.FirstSeq {
		c.Fatalf("%+v, %v; run again %+v", first, err, again)
	}
	if first.Applied && before.Phase == Open && s.To.Phase != Open {
		c.checkClose(before, s.To)
	}
	c.checkFrames()
}

// answer commits an answer like a node with the given view.
func (c *playthrough) answer(v View, player string, right bool) {
	if v.Question < 0 {
		return
	}
	now := c.store.state(c.plan.ID)
	q := &c.plan.Questions[v.Question]
	given := wrongAnswer(q)
	if right {
		given = rightAnswer(q)
	}
	r := judgedBy(c, c.plan, v.State, Submission{Player: player, At: c.now, Answer: answerTo(c.plan, v.Question, given)})
	out := c.submit(v, r)
	want := now.Phase == Open && now.Question == v.Question && now.OpensAt == v.OpensAt && c.now <= now.ClosesAt && c.oracle.canAnswer(player)
	if (out.Verdict == Accepted) != want {
		c.Fatalf("%s at %d: %s of %s, right %v", player, c.now, out.Verdict, now.Phase, right)
	}
	if want {
		c.oracle.answer(player, right, c.now-now.OpensAt)
	}
	if out.Sealed != (want && right && c.plan.Mode == Buzzer) {
		c.Fatalf("%+v", out)
	}
}

func (c *playthrough) submit(v View, r Record) Outcome {
	c.tries++
	seat := c.seat(r.Player)
	a := Attempt{
		Match: c.plan.ID, ID: fmt.Sprint(c.tries), OpensAt: v.OpensAt, Record: r, Seat: seat, Mode: c.plan.Mode, Limit: c.plan.LimitMS,
	}
	commit := c.store.Commit
	switch {
	case c.plan.Mode == Duel:
		seen := answerSeenPush(c.plan, v.Question, r.Player)
		a.Push = &seen
	case c.plan.Mode == Buzzer && r.Correct:
		commit = c.store.Race
	}
	out, err := commit(context.Background(), a)
	if err != nil {
		c.Fatal(err)
	}
	if again, err := commit(context.Background(), a); err != nil || again.Verdict != out.Verdict {
		c.Fatalf("%s, run again %s, %v", out.Verdict, again.Verdict, err)
	}
	return out
}

func (c *playthrough) seat(player string) Seat {
	seat := Seat{Player: player}
	if c.plan.Arena != nil {
		seat.Team = c.oracle.players[player].team
	}
	return seat
}

// leave removes a player; a duel is forfeited.
func (c *playthrough) leave(player string) {
	if c.plan.Arena == nil {
		c.requestStep(func(p *Plan, v View, now int64) (Step, bool) { return forfeitStep(p, v, player, now) })
		return
	}
	if !c.store.state(c.plan.ID).Phase.hasEnded() {
		c.oracle.leave(player)
	}
	c.store.removePlace(c.plan.ID, player)
}
