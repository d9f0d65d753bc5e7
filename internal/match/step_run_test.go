package match

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"laststand/internal/protocol"
)

// A question of a duel takes two calls of the store: a step for the first answer, and one for
// the last answer that reveals it. Without a pause the latter also opens the next question or
// ends the duel.
func TestDuelQuestionTakesTwoCalls(t *testing.T) {
	for name, testCase := range map[string]struct {
		revealMS int64
		want     []string
	}{
		"no pause": {0, []string{"step", "step", "step", "step"}},
		"pause":    {2500, []string{"step", "step", "step", "step", "step", "step"}}, // the next question and the end have steps of their own
	} {
		runNamedInCluster(t, name, func(c *cluster) {
			n := c.startNode()
			sessionA := n.openSession(ada)
			n.openSession(bob)
			plan := newPlan("m_1", now()+3000, 2)
			plan.RevealMS = testCase.revealMS
			c.requireNoError(n.StartDuel(c.Context(), plan))
			c.passUntil(plan, PhaseOpen, 0)
			var calls []string
			n.store.setFault(func(method, _ string) fault {
				switch method {
				case "Commit", "Read", "Step":
					calls = append(calls, strings.ToLower(method))
				}
				return noFault
			})
			for i := range plan.Questions {
				c.passUntil(plan, PhaseOpen, i)
				for _, player := range []string{ada, bob} {
					n.answerRight(plan, player, i)
				}
			}
			c.passUntil(plan, PhaseOver, 1)
			n.store.setFault(nil)
			if !slices.Equal(calls, testCase.want) {
				c.Errorf("calls %q, want %q", calls, testCase.want)
			}
			c.checkWholeLog(plan, sessionA)
			over := sessionA.lastOfType(c, "match.over").Data
			if closed := sessionA.lastOfType(c, "question.closed").Data; closed.Right != 2 || closed.Answered != 2 || closed.Results[0].Score != over.Standings[0].Score || over.Standings[1].Correct != 2 {
				c.Errorf("closed %+v, over %+v", closed, over)
			}
		})
	}
}

// A node learns by the read for a step that another node has opened a question. This takes
// effect at once, although the step itself fails: the bot's answer is scheduled.
func TestMissedStepsTakeEffectAlthoughTheNextStepFails(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		session := n.openSession(ada)
		plan := n.startBotDuel(c, 2, NewBot())
		view, err := c.store.Read(c.Context(), ReadQuery{Match: plan.ID, AfterSeq: -1})
		c.requireNoError(err)
		opening := openStep(plan, view, 0, now())
		opening.ID = "another node"
		if result, err := c.store.Step(c.Context(), opening); err != nil || !result.Applied {
			c.Fatalf("%+v, %v", result, err)
		}
		n.store.setFault(faultOf(failsBefore, "Step"))
		if err := n.Leave(c.Context(), plan.ID, ada); !errors.Is(err, errDown) {
			c.Errorf("the forfeit: %v", err)
		}
		n.store.setFault(nil)
		local := n.findLocalMatch(plan.ID)
		local.mu.Lock()
		if local.lastBotsQuestion != 0 {
			c.Error("the bot's answer is not scheduled")
		}
		local.mu.Unlock()
		c.passUntil(plan, PhaseOver, 1)
		c.checkWholeLog(plan, session)
	})
}

// A step that follows another without a wait starts where that one starts, and has the
// pushes of both.
func TestStepFollowedByAnother(t *testing.T) {
	t.Parallel()
	push := func(kind string) []protocol.NumberedPush {
		return []protocol.NumberedPush{newPush(newPlan("m_1", 0, 1), kind, nil)}
	}
	reveal := Step{From: State{Phase: PhaseOpen, Question: 3}, Version: 7, NewState: State{Phase: PhaseRevealed, Question: 3}, Mode: Buzzer, Pushes: push("a"), Scores: []byte("[1]")}
	open := Step{From: State{Phase: PhaseRevealed, Question: 3}, Version: 9, NewState: State{Phase: PhaseOpen, Question: 4}, Mode: Buzzer, Pushes: push("b"), TTLMS: 5}
	both := reveal.followedBy(open)
	if both.From.Phase != PhaseOpen || both.From.Question != 3 || both.Version != 7 || both.NewState.Question != 4 || both.TTLMS != 5 || string(both.Scores) != "[1]" || len(both.Pushes) != 2 {
		t.Errorf("%+v", both)
	}
	if !both.ClosesQuestion() || !both.OpensQuestion() || reveal.OpensQuestion() || open.ClosesQuestion() {
		t.Error("the step must close one question and open the next")
	}
	extension := Step{From: State{Phase: PhaseOpen, Question: 3}, NewState: State{Phase: PhaseOpen, Question: 3}}
	if extension.OpensQuestion() || extension.ClosesQuestion() {
		t.Error("an extension neither opens nor closes a question")
	}
}

// The end of a large survival arena lists its players by rank, also if it follows the last
// reveal at once. Before the reveal they are listed by score.
func TestSurvivalEndWithoutPauseListsPlayersByRank(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n, plan := c.startNode(), newArena(Survival, 1)
		plan.RevealMS = 0
		sessions := c.startArena(plan, FullListPlayers+1, n)
		time.Sleep(10 * time.Millisecond)
		for i := range sessions { // the same points for all, and a longer time for each
			n.answerRight(plan, plan.arenaSeat(i).Player, 0)
			time.Sleep(time.Millisecond)
		}
		c.passUntil(plan, PhaseOver, 0)
		over := sessions[0].lastOfType(c, "match.over").Data
		for i, standing := range over.Standings {
			if want := plan.arenaSeat(i).Player; standing.Player != want || standing.Score != over.Standings[0].Score {
				c.Errorf("rank %d: %s with %d points, want %s", i+1, standing.Player, standing.Score, want)
			}
		}
		if len(over.Standings) != ShortListPlayers || over.Winner != plan.arenaSeat(0).Player {
			c.Errorf("%d standings, winner %q", len(over.Standings), over.Winner)
		}
	})
}
