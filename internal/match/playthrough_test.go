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
// any order. The oracle gets the same operations.
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
				rt.Repeat(c.randomOperations())
				c.playToEnd()
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
		first := State{Phase: PhaseCountdown, Question: -1, LastDecided: -1, StartsAt: 3000, DueAt: 3000, Players: 2, Alive: 2}
		found := newPush(c.plan, protocol.TypeMatchFound, foundView(c.plan, View{State: first}))
		c.createMatch(first, &found)
		return c
	}
	c.plan = newArena(mode, questions, [][]string{nil, {"red", "blue"}}[rapid.IntRange(0, 1).Draw(rt, "teams")]...)
	c.plan.Arena.HostPaced = rapid.Bool().Draw(rt, "host paced")
	c.oracle = newOracle(mode, c.plan.LimitMS)
	c.createMatch(State{Phase: PhaseLobby, Question: -1, LastDecided: -1, DueAt: maxLobbyMS, HostPaced: c.plan.Arena.HostPaced}, nil)
	c.addPlayersUntilCountdown(rapid.OneOf(rapid.IntRange(1, 4), rapid.IntRange(48, 60)).Draw(rt, "players"))
	return c
}

func (c *playthrough) createMatch(state State, found *protocol.NumberedPush) {
	for range 2 {
		made, err := c.store.Create(context.Background(), c.plan, state, found)
		if want := c.stale.Version == 0; made != want || err != nil {
			c.Fatalf("created: %v, %v", made, err)
		}
		c.stale = c.view()
	}
}

// addPlayersUntilCountdown adds players to an arena and removes some, up to the countdown. A
// player who leaves during the start keeps a seat.
func (c *playthrough) addPlayersUntilCountdown(players int) {
	for i := range players {
		seat := c.plan.arenaSeat(i)
		c.store.addSeat(c.plan.ID, seat)
		c.oracle.players[seat.Player] = &playerTotals{team: seat.Team}
	}
	if players > 1 && rapid.Bool().Draw(c.T, "one leaves the lobby") {
		c.store.removePlace(c.plan.ID, c.plan.arenaSeat(0).Player)
		delete(c.oracle.players, c.plan.arenaSeat(0).Player)
	}
	c.requestStep(startArenaStep)
	announcing := c.view()
	if rapid.Bool().Draw(c.T, "one leaves during the announcement") {
		c.leave(c.plan.arenaSeat(players - 1).Player)
		c.tick(announcing, 0)
		if c.view().Phase != PhaseStarting {
			c.Fatal("it was announced with somebody who had left")
		}
	}
	c.tick(c.view(), 0)
	if view := c.view(); view.Phase != PhaseCountdown || view.Alive != int64(c.oracle.countRemaining()) {
		c.Fatalf("%+v", view.State)
	}
}

func (c *playthrough) view() View {
	query := ReadQuery{Match: c.plan.ID, Players: c.plan.duelPlayers(), WantListed: c.plan.Arena != nil, AfterSeq: 0}
	v, err := c.store.Read(context.Background(), query)
	if err != nil {
		c.Fatal(err)
	}
	return v
}

func (c *playthrough) randomOperations() map[string]func(*rapid.T) {
	player := rapid.SampledFrom(slices.Sorted(maps.Keys(c.oracle.players)))
	rarely := func(rt *rapid.T) {
		if rapid.IntRange(0, 7).Draw(rt, "one in eight") > 0 {
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
		"proceed": func(rt *rapid.T) {
			if c.plan.Arena == nil {
				rt.Skip()
			}
			after := rapid.SampledFrom([]View{c.stale, c.view()}).Draw(rt, "seen").Question
			c.requestStep(func(plan *Plan, view View, now int64) (Step, bool) { return proceedStep(plan, view, after, now) })
		},
		"close arena": func(rt *rapid.T) {
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
	view := c.view()
	for _, player := range slices.Sorted(maps.Keys(c.oracle.players)) {
		if mood := rapid.IntRange(0, 9).Draw(c.T, player); mood > 0 {
			c.answer(view, player, mood <= right)
		}
	}
}

// playToEnd plays a match to its end.
func (c *playthrough) playToEnd() {
	for range 8*len(c.plan.Questions) + 8 {
		if c.tick(c.view(), 0); c.view().Phase == PhaseOpen && len(c.oracle.answers) == 0 {
			c.answerMostly()
			c.tick(c.view(), 0)
		}
		c.now += 90_000
	}
}

// tick applies the step that is due according to a view.
func (c *playthrough) tick(view View, lost int64) {
	if step, due := nextStep(c.plan, view, c.now, lost); due {
		c.applyStep(step)
	}
}

// tickEarly applies a step of a node whose clock is a second ahead.
func (c *playthrough) tickEarly() {
	c.now += 1000
	c.tick(c.view(), 0)
	c.now -= 1000
}

func (c *playthrough) requestStep(requestedStep stepFunc) {
	if s, ok := requestedStep(c.plan, c.view(), c.now); ok {
		c.applyStep(s)
	}
}

func (c *playthrough) applyStep(step Step) {
	c.tries++
	step.ID = fmt.Sprint(c.tries)
	before := c.store.state(c.plan.ID)
	first, err := c.store.Step(context.Background(), step)
	if err != nil {
		c.Fatal(err)
	}
	if again, err := c.store.Step(context.Background(), step); err != nil || again.Applied != first.Applied || again.FirstSeq != first.FirstSeq {
		c.Fatalf("%+v, %v; run again %+v", first, err, again)
	}
	if first.Applied && before.Phase == PhaseOpen && step.NewState.Phase != PhaseOpen {
		c.checkClose(before, step.NewState)
	}
	c.checkFrames()
}

// answer commits an answer like a node with the given view.
func (c *playthrough) answer(view View, player string, right bool) {
	if view.Question < 0 {
		return
	}
	now := c.store.state(c.plan.ID)
	question := &c.plan.Questions[view.Question]
	given := wrongAnswer(question)
	if right {
		given = rightAnswer(question)
	}
	record := judgeSubmission(c, c.plan, view.State, Submission{Player: player, ArrivedAt: c.now, Answer: answerTo(c.plan, view.Question, given)})
	out := c.submit(view, record)
	want := now.Phase == PhaseOpen && now.Question == view.Question && now.OpensAt == view.OpensAt && c.now <= now.ClosesAt && c.oracle.canAnswer(player)
	if (out.Verdict == VerdictAccepted) != want {
		c.Fatalf("%s at %d: %s of %s, right %v", player, c.now, out.Verdict, now.Phase, right)
	}
	if want {
		c.oracle.answer(player, right, c.now-now.OpensAt)
	}
	if out.Sealed != (want && right && c.plan.Mode == Buzzer) {
		c.Fatalf("%+v", out)
	}
}

func (c *playthrough) submit(view View, record Record) Outcome {
	c.tries++
	seat := c.seatForPlayer(record.Player)
	attempt := Attempt{
		Match: c.plan.ID, ID: fmt.Sprint(c.tries), OpensAt: view.OpensAt, Record: record, Seat: seat, Mode: c.plan.Mode, LimitMS: c.plan.LimitMS,
	}
	commit := c.store.Commit
	switch {
	case c.plan.Mode == Duel:
		seen := answerSeenPush(c.plan, view.Question, record.Player)
		attempt.Push = &seen
	case c.plan.Mode == Buzzer && record.Correct:
		commit = c.store.CommitIfFirst
	}
	out, err := commit(context.Background(), attempt)
	if err != nil {
		c.Fatal(err)
	}
	if again, err := commit(context.Background(), attempt); err != nil || again.Verdict != out.Verdict {
		c.Fatalf("%s, run again %s, %v", out.Verdict, again.Verdict, err)
	}
	return out
}

func (c *playthrough) seatForPlayer(player string) Seat {
	seat := Seat{Player: player}
	if c.plan.Arena != nil {
		seat.Team = c.oracle.players[player].team
	}
	return seat
}

// leave removes a player; a duel is forfeited.
func (c *playthrough) leave(player string) {
	if c.plan.Arena == nil {
		c.requestStep(func(plan *Plan, view View, now int64) (Step, bool) { return forfeitStep(plan, view, player, now) })
		return
	}
	if !c.store.state(c.plan.ID).Phase.hasEnded() {
		c.oracle.leave(player)
	}
	c.store.removePlace(c.plan.ID, player)
}
