package match

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"laststand/internal/protocol"
	"laststand/internal/quiz"
)

// playthrough is a match without nodes. Random operations are applied to it in
// any order. The oracle gets the same operations.
type playthrough struct {
	*rapid.T
	plan      *Plan
	store     *memoryStore
	oracle    *oracle
	now       int64
	attempts  int
	staleView View // the view of a stalled node

	checkedFrames  int // frames of the log that were checked
	lastExtended   int // last extended question, -1 for none
	closesAt       int64
	revealedScores map[string]int64 // scores at the last reveal
}

// Players, hosts and nodes do random operations, also late ones. The match ends and
// skips no question. All its pushes agree with the contract.
func TestAnyPlaythrough(t *testing.T) {
	t.Parallel()
	for _, mode := range []Mode{Duel, Buzzer, Survival, Race} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				p := newPlaythrough(rt, mode)
				rt.Repeat(p.randomOperations())
				p.playToEnd()
				p.checkEnd()
			})
		})
	}
}

// newPlaythrough returns a match in its countdown. The number of its players is
// around FullListPlayers.
func newPlaythrough(rt *rapid.T, mode Mode) *playthrough {
	questions := rapid.IntRange(1, 4).Draw(rt, "questions")
	p := &playthrough{T: rt, store: newMemoryStore(), lastExtended: -1, revealedScores: map[string]int64{}}
	if mode == Duel {
		p.plan = newPlan("m_1", 3000, questions)
		p.oracle = newOracle(p.plan)
		p.oracle.players[ada], p.oracle.players[bob] = &playerTotals{}, &playerTotals{}
		first := State{Phase: PhaseCountdown, Question: -1, LastDecided: -1, StartsAt: 3000, DueAt: 3000, Players: 2, Alive: 2}
		found := newPush(p.plan, protocol.TypeMatchFound, matchFoundView(p.plan, View{State: first}))
		p.createMatch(first, &found)
		return p
	}
	p.plan = newArena(mode, questions, [][]string{nil, {"red", "blue", "green"}}[rapid.IntRange(0, 1).Draw(rt, "teams")]...)
	p.plan.Arena.HostPaced = rapid.Bool().Draw(rt, "host paced")
	if mode == Race {
		p.drawScoring(questions)
	}
	p.oracle = newOracle(p.plan)
	p.createMatch(State{Phase: PhaseLobby, Question: -1, LastDecided: -1, DueAt: maxLobbyMS, HostPaced: p.plan.Arena.HostPaced}, nil)
	p.addPlayersUntilCountdown(rapid.OneOf(rapid.IntRange(1, 4), rapid.IntRange(48, 60)).Draw(rt, "players"))
	return p
}

// drawScoring gives a race a random scoring, and sometimes limits and multipliers.
func (p *playthrough) drawScoring(questions int) {
	numbers := func(name string, low, high int64) []int64 {
		return rapid.SliceOfN(rapid.Int64Range(low, high), questions, questions).Draw(p.T, name)
	}
	p.plan.Scoring = &quiz.Scoring{
		Preset: rapid.SampledFrom([]string{quiz.Speed, quiz.Accuracy}).Draw(p.T, "preset"), Points: rapid.Int64Range(1, 1000).Draw(p.T, "points"),
		Penalty: rapid.Int64Range(0, 1000).Draw(p.T, "penalty"), Streak: rapid.Int64Range(0, 200).Draw(p.T, "streak"),
	}
	if rapid.Bool().Draw(p.T, "each question has settings") {
		p.plan.LimitsMS, p.plan.Multipliers = numbers("limits", 5000, 20_000), numbers("multipliers", 0, 2)
		p.plan.ReadingMS = rapid.Int64Range(0, 3000).Draw(p.T, "reading")
	}
}

func (p *playthrough) createMatch(state State, found *protocol.NumberedPush) {
	for range 2 {
		created, err := p.store.Create(context.Background(), NewMatch{Plan: p.plan, State: state, Found: found})
		if want := p.staleView.Version == 0; created != want || err != nil {
			p.Fatalf("created: %v, %v", created, err)
		}
		p.staleView = p.view()
	}
}

// addPlayersUntilCountdown adds players to an arena and removes some, up to the countdown. A
// player who leaves during the start keeps a seat.
func (p *playthrough) addPlayersUntilCountdown(players int) {
	for i := range players {
		seat := p.plan.arenaSeat(i)
		p.store.addSeat(p.plan.ID, seat)
		p.oracle.players[seat.Player] = &playerTotals{team: seat.Team}
	}
	if players > 1 && rapid.Bool().Draw(p.T, "one leaves the lobby") {
		p.store.removePlace(p.plan.ID, p.plan.arenaSeat(0).Player)
		delete(p.oracle.players, p.plan.arenaSeat(0).Player)
	}
	p.drawExtraTime()
	p.requestStep(startArenaStep)
	announcing := p.view()
	if rapid.Bool().Draw(p.T, "one leaves during the announcement") {
		p.leave(p.plan.arenaSeat(players - 1).Player)
		p.applyDueStep(announcing, 0)
		if p.view().Phase != PhaseStarting {
			p.Fatal("it was announced with somebody who had left")
		}
	}
	p.applyDueStep(p.view(), 0)
	if view := p.view(); view.Phase != PhaseCountdown || view.Alive != int64(p.oracle.countRemaining()) {
		p.Fatalf("%+v", view.State)
	}
}

// drawExtraTime gives some players extra time.
func (p *playthrough) drawExtraTime() {
	if p.plan.Mode == Buzzer {
		return
	}
	players := slices.Sorted(maps.Keys(p.oracle.players))
	for range rapid.IntRange(0, 3).Draw(p.T, "players with extra time") {
		player, percent := rapid.SampledFrom(players).Draw(p.T, "player"), rapid.SampledFrom([]int64{25, 50, 100}).Draw(p.T, "percent")
		p.store.setExtra(p.plan.ID, player, percent)
		p.oracle.players[player].extraPercent = percent
	}
}

func (p *playthrough) view() View {
	players := append(p.store.state(p.plan.ID).survivorsToCheck(p.plan), p.plan.duelPlayers()...)
	query := ReadQuery{Match: p.plan.ID, Players: players, WantListed: p.plan.Arena != nil, AfterSeq: 0}
	v, err := p.store.Read(context.Background(), query)
	if err != nil {
		p.Fatal(err)
	}
	return v
}

func (p *playthrough) randomOperations() map[string]func(*rapid.T) {
	player := rapid.SampledFrom(slices.Sorted(maps.Keys(p.oracle.players)))
	rarely := func(rt *rapid.T) {
		if rapid.IntRange(0, 7).Draw(rt, "one in eight") > 0 {
			rt.Skip()
		}
	}
	return map[string]func(*rapid.T){
		"wait":         func(rt *rapid.T) { p.now += rapid.Int64Range(1, 12_000).Draw(rt, "ms") },
		"tick":         func(*rapid.T) { p.applyDueStep(p.view(), 0) },
		"tick late":    func(rt *rapid.T) { p.applyDueStep(p.view(), rapid.Int64Range(0, 30_000).Draw(rt, "lost")) },
		"tick stalled": func(*rapid.T) { p.applyDueStep(p.staleView, 0) },
		"tick early":   func(*rapid.T) { p.applyDueStepEarly() },
		"stall":        func(*rapid.T) { p.staleView = p.view() },
		"answer": func(rt *rapid.T) {
			p.answer(p.view(), player.Draw(rt, "player"), rapid.Bool().Draw(rt, "right"))
		},
		"answer stalled": func(rt *rapid.T) { p.answer(p.staleView, player.Draw(rt, "player"), rapid.Bool().Draw(rt, "right")) },
		"most answer": func(rt *rapid.T) {
			p.now += rapid.Int64Range(0, 3000).Draw(rt, "ms")
			p.answerForMost()
		},
		"leave": func(rt *rapid.T) {
			rarely(rt)
			p.leave(player.Draw(rt, "player"))
		},
		"proceed": func(rt *rapid.T) {
			if p.plan.Arena == nil {
				rt.Skip()
			}
			after := rapid.SampledFrom([]View{p.staleView, p.view()}).Draw(rt, "seen").Question
			p.requestStep(func(plan *Plan, view View, now int64) (Step, bool) { return proceedStep(plan, view, after, now) })
		},
		"close arena": func(rt *rapid.T) {
			rarely(rt)
			if p.plan.Arena == nil {
				rt.Skip()
			}
			p.requestStep(closeArenaStep)
		},
		"": func(*rapid.T) { p.checkFrames() },
	}
}

func (p *playthrough) answerForMost() {
	right := rapid.IntRange(0, 9).Draw(p.T, "of ten are right")
	view := p.view()
	for _, player := range slices.Sorted(maps.Keys(p.oracle.players)) {
		if draw := rapid.IntRange(0, 9).Draw(p.T, player); draw > 0 {
			p.answer(view, player, draw <= right)
		}
	}
}

// playToEnd plays a match to its end.
func (p *playthrough) playToEnd() {
	for range 8*len(p.plan.Questions) + 8 {
		if p.applyDueStep(p.view(), 0); p.view().Phase == PhaseOpen && len(p.oracle.answers) == 0 {
			p.answerForMost()
			p.applyDueStep(p.view(), 0)
		}
		p.now += 90_000
	}
}

// applyDueStep applies the step that is due according to a view.
func (p *playthrough) applyDueStep(view View, lostMS int64) {
	if step, due := nextStep(p.plan, view, p.now, lostMS); due {
		p.applyStep(step)
	}
}

// applyDueStepEarly applies a step of a node whose clock is a second ahead.
func (p *playthrough) applyDueStepEarly() {
	p.now += 1000
	p.applyDueStep(p.view(), 0)
	p.now -= 1000
}

func (p *playthrough) requestStep(requestedStep stepFunc) {
	view := p.view()
	if s, ok := requestedStep(p.plan, view, p.now); ok {
		s.From = view.State
		p.applyStep(s)
	}
}

func (p *playthrough) applyStep(step Step) {
	p.attempts++
	step.ID = fmt.Sprint(p.attempts)
	before := p.store.state(p.plan.ID)
	first, err := p.store.Step(context.Background(), step)
	if err != nil {
		p.Fatal(err)
	}
	if repeated, err := p.store.Step(context.Background(), step); err != nil || repeated.Applied != first.Applied || repeated.FirstSeq != first.FirstSeq {
		p.Fatalf("%+v, %v; run again %+v", first, err, repeated)
	}
	if first.Applied && before.Phase == PhaseOpen && step.NewState.Phase != PhaseOpen {
		p.checkCloseReason(before, step.NewState)
	}
	p.checkFrames()
}

// answer commits an answer like a node with the given view.
func (p *playthrough) answer(view View, player string, right bool) {
	if view.Question < 0 || p.plan.ReadingMS > 0 && p.now < view.OpensAt+p.plan.ReadingMS { // the judge refuses it
		return
	}
	storedState := p.store.state(p.plan.ID)
	question := &p.plan.Questions[view.Question]
	given := wrongAnswer(question)
	if right {
		given = rightAnswer(question)
	}
	record := judgeSubmission(p, p.plan, view.State, Submission{Player: player, ArrivedAt: p.now, Answer: answerTo(p.plan, view.Question, given)})
	outcome := p.submit(view, record)
	want := storedState.Phase == PhaseOpen && storedState.Question == view.Question && storedState.OpensAt == view.OpensAt && p.now <= p.oracle.ownClose(player, storedState.ClosesAt) && p.oracle.canAnswer(player)
	if (outcome.Verdict == VerdictAccepted) != want {
		p.Fatalf("%s at %d: %s of %s, right %v", player, p.now, outcome.Verdict, storedState.Phase, right)
	}
	if want {
		p.oracle.recordAnswer(player, right, p.now-storedState.OpensAt-p.plan.ReadingMS)
	}
	if outcome.Sealed != (want && right && p.plan.Mode == Buzzer) {
		p.Fatalf("%+v", outcome)
	}
}

func (p *playthrough) submit(view View, record Record) Outcome {
	p.attempts++
	seat := p.seatForPlayer(record.Player)
	attempt := Attempt{
		Match: p.plan.ID, ID: fmt.Sprint(p.attempts), OpensAt: view.OpensAt, ExtraMS: view.extraMS(p.plan, record.Player), Record: record, Seat: seat, Mode: p.plan.Mode, Streak: p.plan.scoring().Streak * p.plan.Multiplier(view.Question),
	}
	commit := p.store.Commit
	switch {
	case p.plan.Mode == Duel:
		return p.submitToDuel(attempt)
	case p.plan.Mode == Buzzer && record.Correct:
		commit = p.store.CommitIfFirst
	}
	outcome, err := commit(context.Background(), attempt)
	if err != nil {
		p.Fatal(err)
	}
	if repeated, err := commit(context.Background(), attempt); err != nil || repeated.Verdict != outcome.Verdict {
		p.Fatalf("%s, run again %s, %v", outcome.Verdict, repeated.Verdict, err)
	}
	return outcome
}

// submitToDuel submits an answer like a node that has just read the duel.
func (p *playthrough) submitToDuel(attempt Attempt) Outcome {
	view := p.view()
	local := newLocalMatch(View{Plan: p.plan, State: view.State})
	local.noteRead(view)
	answer, view, outcome := local.nextAnswer(attempt)
	if outcome.Verdict == VerdictAccepted {
		accept := newStep(p.plan, view, view.State)
		accept.Version, accept.Answer = view.Version, answer
		accept.Pushes = []protocol.NumberedPush{answerSeenPush(p.plan, view.Question, answer.Record.Player)}
		p.applyStep(accept)
	}
	return outcome
}

func (p *playthrough) seatForPlayer(player string) Seat {
	seat := Seat{Player: player}
	if p.plan.Arena != nil {
		seat.Team = p.oracle.players[player].team
	}
	return seat
}

// leave removes a player; a duel is forfeited.
func (p *playthrough) leave(player string) {
	if p.plan.Arena == nil {
		p.requestStep(func(plan *Plan, view View, now int64) (Step, bool) { return forfeitStep(plan, view, player, now) })
		return
	}
	if !p.store.state(p.plan.ID).Phase.hasEnded() {
		p.oracle.leave(player)
	}
	p.store.removePlace(p.plan.ID, player)
}
