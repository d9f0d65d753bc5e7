package match

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"laststand/internal/protocol"
)

// The same share of the own limit gives the same points and time, with every extra time.
func TestExtraTimeScalesTheElapsedTime(t *testing.T) {
	t.Parallel()
	plan := newArena(Race, 1)
	state := State{Phase: PhaseOpen, OpensAt: 1000, ClosesAt: 1000 + plan.LimitMS}
	for _, percent := range ExtraPercents {
		state.Extra = []ExtraTime{{Player: "p_000", Percent: percent}}
		ownLimit := plan.LimitMS * (100 + percent) / 100
		for quarter := range int64(5) {
			submission := Submission{Player: "p_000", ArrivedAt: 1000 + ownLimit*quarter/4, Answer: answerTo(plan, 0, rightAnswer(&plan.Questions[0]))}
			record := judgeSubmission(t, plan, state, submission)
			if wantElapsed := plan.LimitMS * quarter / 4; record.ElapsedMS != wantElapsed || record.SavedMS != plan.LimitMS-wantElapsed || record.Points != 100+100*(4-quarter)/4 {
				t.Errorf("%d %% extra, %d quarters of the time: %+v", percent, quarter, record)
			}
		}
		if own := state.ClosesAt + state.extraMS(plan, "p_000"); own != 1000+ownLimit || state.lastClosesAt(plan) != own || state.extraMS(plan, "p_001") != 0 {
			t.Errorf("%d %% extra: closes at %d", percent, own)
		}
	}
}

// startWithExtraTime plays an arena of three players up to its first question. The first
// player has 100 % extra time.
func (c *cluster) startWithExtraTime(plan *Plan, nodes ...*node) []*frameRecorder {
	c.Helper()
	sessions := c.createArenaWithPlayers(plan, 3, nodes...)
	c.store.setExtra(plan.ID, "p_000", 100)
	c.requireNoError(nodes[0].StartArena(c.Context(), plan.ID))
	c.passUntil(plan, PhaseOpen, 0)
	return sessions
}

// checkDeadlinePushes checks that only the first session got of extra time, and that no frame
// shows a time above the limit.
func (c *cluster) checkDeadlinePushes(plan *Plan, sessions []*frameRecorder, want int) {
	c.Helper()
	for i, session := range sessions {
		pushes := session.countType(c, protocol.TypeOwnDeadline)
		if i == 0 && pushes != want || i > 0 && pushes != 0 {
			c.Errorf("player %d got %d times, want %d for the first player only", i, pushes, want)
		}
		for _, raw := range session.frames() {
			if i > 0 && strings.Contains(string(raw), "extra") {
				c.Errorf("player %d: %s", i, raw)
			}
		}
		for _, received := range session.decodedFrames(c) {
			for _, result := range received.Data.Results {
				if result.ElapsedMS != nil && *result.ElapsedMS > plan.LimitMS {
					c.Errorf("player %d: %+v", i, result)
				}
			}
			for _, s := range received.Data.Standings {
				if s.TimeMS > plan.LimitMS*int64(len(plan.Questions)) {
					c.Errorf("player %d: %+v", i, s)
				}
			}
		}
	}
}

// Extra time causes no push in the lobby.
func TestLobbyShowsNothingOfExtraTime(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n, plan := c.startNode(), newArena(Race, 1)
		session := c.createArenaWithPlayers(plan, 2, n)[0]
		time.Sleep(3 * time.Second)
		before := len(session.frames())
		c.store.setExtra(plan.ID, "p_001", 100)
		n.NotifyPlacesChanged(plan.ID)
		time.Sleep(3 * time.Second)
		if frames := session.frames(); before == 0 || len(frames) != before {
			c.Errorf("%d frames, and then %s", before, frames[before:])
		}
		c.addPlayer(plan, 2, n)
		time.Sleep(3 * time.Second)
		if len(session.frames()) != before+1 {
			c.Errorf("the players of the lobby are not counted: %s", session.frames())
		}
		c.requireNoError(n.CloseArena(c.Context(), plan.ID))
	})
}

// A player with extra time scores after closes_at; others are late. The question closes for
// all at the last own close, or when all have answered.
func TestQuestionWaitsForExtraTime(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodes, plan := []*node{c.startNode(), c.startNode()}, newArena(Race, 3)
		sessions := c.startWithExtraTime(plan, nodes...)
		state := c.store.state(plan.ID)
		if own := sessions[0].lastOfType(c, protocol.TypeOwnDeadline).Data; own.ClosesAt != state.ClosesAt+plan.LimitMS || own.Question != 0 {
			c.Errorf("%+v", own)
		}
		right := rightAnswer(&plan.Questions[0])
		time.Sleep(time.Duration(state.ClosesAt-now()+1000) * time.Millisecond)
		nodes[1].answerRefused(plan, "p_001", 0, right, string(protocol.CodeQuestionClosed))
		reply, err := nodes[0].answer(plan, "p_000", 0, right)
		if err != nil || reply.ElapsedMS != (reply.At-state.OpensAt)/2 {
			c.Errorf("with extra time: %+v, %v", reply, err)
		}
		c.passUntil(plan, PhaseRevealed, 0)
		if at, want := now(), state.ClosesAt+plan.LimitMS+answerGraceMS; at < want || at > want+100 {
			c.Errorf("closed at %d, want %d", at, want)
		}
		if closed := sessions[2].lastOfType(c, protocol.TypeQuestionClosed).Data; closed.Right != 1 || closed.Reason != closeReasonTimeout {
			c.Errorf("%+v", closed)
		}
		c.passUntil(plan, PhaseOpen, 1)
		for i, n := range []*node{nodes[0], nodes[1], nodes[0]} {
			n.answerRight(plan, plan.arenaSeat(i).Player, 1)
		}
		if state := c.store.state(plan.ID); state.Phase != PhaseRevealed || state.CloseReason != closeReasonAllAnswered {
			c.Errorf("%+v", state)
		}
		c.passUntil(plan, PhaseOpen, 2)
		c.store.removePlace(plan.ID, "p_000")
		c.passUntil(plan, PhaseOver, 2)
		c.checkDeadlinePushes(plan, sessions, 3)
		c.checkWholeLog(plan, sessions[1])
	})
}

// The node of a player dies. Another node keeps to the own deadline of the player, who
// learns it with the state.
func TestExtraTimeSurvivesTheNode(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		plan := newArena(Race, 2)
		victim, survivor := c.startNode(), c.startNode()
		sessions := c.startWithExtraTime(plan, victim)
		state := c.store.state(plan.ID)
		victim.kill()
		time.Sleep(time.Duration(state.ClosesAt-now()+500) * time.Millisecond)
		session, shown := survivor.openSession("p_000"), protocol.MatchState{}
		c.requireNoError(survivor.Attach(c.Context(), AttachRequest{Match: plan.ID, Player: "p_000", Session: session, AfterSeq: state.Seq, OnState: func(s protocol.MatchState) { shown = s }}))
		if want := (protocol.OwnDeadline{Match: plan.ID, ClosesAt: state.ClosesAt + plan.LimitMS, Extra: 100}); shown.OwnDeadline == nil || *shown.OwnDeadline != want {
			c.Errorf("%+v", shown.OwnDeadline)
		}
		other := survivor.openSession("p_001")
		c.requireNoError(survivor.Attach(c.Context(), AttachRequest{Match: plan.ID, Player: "p_001", Session: other, AfterSeq: state.Seq, OnState: func(s protocol.MatchState) { shown = s }}))
		if shown.OwnDeadline != nil {
			c.Errorf("another player: %+v", shown.OwnDeadline)
		}
		survivor.answerRight(plan, "p_000", 0)
		c.passUntil(plan, PhaseOpen, 1)
		c.checkDeadlinePushes(plan, []*frameRecorder{session, other}, 1)
		c.checkDeadlinePushes(plan, sessions, 1)
		c.passUntil(plan, PhaseOver, 1)
	})
}

// A survival match does not wait for players with extra time who are out.
func TestSurvivalEndsExtraTimeWithElimination(t *testing.T) {
	t.Parallel()
	for _, players := range []int{3, FullListPlayers + 1} {
		runNamedInCluster(t, fmt.Sprint(players), func(c *cluster) {
			n, plan := c.startNode(), newArena(Survival, 3)
			c.createArenaWithPlayers(plan, players, n)
			c.store.setExtra(plan.ID, "p_000", 100)
			c.store.setExtra(plan.ID, "p_001", 50)
			c.requireNoError(n.StartArena(c.Context(), plan.ID))
			c.passUntil(plan, PhaseOpen, 0)
			for i := 1; i < players; i++ {
				n.answerRight(plan, plan.arenaSeat(i).Player, 0)
			}
			c.passUntil(plan, PhaseOpen, 1)
			if state := c.store.state(plan.ID); len(state.Extra) != 1 || state.Extra[0].Player != "p_001" || state.DueAt != state.ClosesAt+plan.LimitMS/2+answerGraceMS {
				c.Errorf("%d players: %+v", players, state)
			}
			c.passUntil(plan, PhaseOver, 2)
		})
	}
}
