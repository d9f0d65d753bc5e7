package match

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"laststand/internal/protocol"
)

// The store fails when a node must send personal results of a question that
// another node revealed. The players get them once, a little later.
func TestPersonalResultsAreRetried(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB := c.startNode(), c.startNode()
		run := c.startArenaPlaythrough(newArena(Survival, 2), 53, nodeA, nodeB)
		var failuresLeft atomic.Int64
		failuresLeft.Store(2)
		fault := func(method, _ string) fault {
			state := c.store.state(run.plan.ID)
			if method == "Read" && state.Phase == PhaseRevealed && state.Question == 1 && failuresLeft.Add(-1) >= 0 {
				return failsBefore
			}
			return noFault
		}
		nodeA.store.setFault(fault)
		nodeB.store.setFault(fault)
		run.play()
		run.checkLogsAndResult()
		if failuresLeft.Load() > 0 {
			c.Error("the personal results were never read")
		}
	})
}

// Players at the revealing node get their personal result with the reveal, and also the
// next question if it opens at once. So each player costs one write.
func TestPersonalResultsArriveWithReveal(t *testing.T) {
	for name, testCase := range map[string]struct {
		revealMS int64
		want     string
	}{
		"the next question later":   {2500, "question.closed, own"},
		"the next question at once": {0, "question.closed, own, question"},
	} {
		runNamedInCluster(t, name, func(c *cluster) {
			n, plan := c.startNode(), newArena(Survival, 2)
			plan.RevealMS = testCase.revealMS
			sessions := c.createArenaWithPlayers(plan, FullListPlayers+1, n)
			recorder, bundles := n.attach(plan, plan.arenaSeat(0).Player, 0), []string(nil)
			recorder.setOnPush(func(frames ...[]byte) {
				var types []string
				for _, frame := range frames {
					types = append(types, decodeFrame(c, frame).Type)
				}
				bundles = append(bundles, strings.Join(types, ", "))
			})
			c.requireNoError(n.StartArena(c.Context(), plan.ID))
			c.passUntil(plan, PhaseOpen, 0)
			for i := range sessions {
				n.answerRight(plan, plan.arenaSeat(i).Player, 0)
			}
			time.Sleep(10 * time.Millisecond)
			recorder.mu.Lock()
			defer recorder.mu.Unlock()
			if !slices.Contains(bundles, testCase.want) {
				c.Errorf("pushed %q, want one push of %q", bundles, testCase.want)
			}
		})
	}
}

// Players of the node that applies the steps get their personal result even if the next
// question opens at once. Players of other nodes get it if the reveal lasts.
func TestPersonalResultsArriveBeforeTheNextQuestion(t *testing.T) {
	for name, testCase := range map[string]struct {
		nodes    int
		revealMS int64
	}{
		"one node, the next question at once":   {1, 0},
		"two nodes, the next question in 50 ms": {2, 50},
	} {
		runNamedInCluster(t, name, func(c *cluster) {
			var nodes []*node
			for range testCase.nodes {
				nodes = append(nodes, c.startNode())
			}
			plan := newArena(Survival, 3)
			plan.RevealMS = testCase.revealMS
			sessions := c.createArenaWithPlayers(plan, FullListPlayers+1, nodes...)
			c.requireNoError(nodes[0].StartArena(c.Context(), plan.ID))
			for question := range 2 {
				c.passUntil(plan, PhaseOpen, question)
				for i := range sessions {
					nodes[0].answerRight(plan, plan.arenaSeat(i).Player, question)
				}
			}
			c.passUntil(plan, PhaseOpen, 2)
			for i, session := range sessions {
				if own := session.countType(c, protocol.TypeOwn); own != 2 {
					c.Errorf("player %d got %d personal results of 2", i, own)
				}
			}
		})
	}
}

// A node reads the personal results of a question only after the next one has opened. It does
// not send them, because scores and ranks then disclose open answers. match.state and the next
// result have the points.
func TestASkippedPersonalResultIsInTheNextScore(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n, late, plan := c.startNode(), c.startNode(), newArena(Race, 3)
		plan.RevealMS = 50
		sessions := c.createArenaWithPlayers(plan, FullListPlayers+1, n, late)
		player, session := plan.arenaSeat(1).Player, sessions[1] // at the late node
		answerAll := func(question int) {
			for i := range sessions {
				n.answerRight(plan, plan.arenaSeat(i).Player, question)
			}
		}
		c.requireNoError(n.StartArena(c.Context(), plan.ID))
		c.passUntil(plan, PhaseOpen, 0)
		resumeReads := make(chan struct{})
		late.store.setFault(func(method, _ string) fault {
			if state := c.store.state(plan.ID); method == "Read" && state.Phase == PhaseRevealed && state.Question == 0 {
				<-resumeReads
			}
			return noFault
		})
		answerAll(0)
		c.passUntil(plan, PhaseOpen, 1)
		n.answerRight(plan, player, 1)
		close(resumeReads)
		synctest.Wait()
		if own, skipped := session.countType(c, protocol.TypeOwn), testutil.ToFloat64(late.metrics.skippedPersonalResults); own != 0 || skipped != 1 {
			c.Fatalf("%d personal results, %g skipped", own, skipped)
		}
		first := int64(0)
		c.requireNoError(late.Attach(c.Context(), AttachRequest{Match: plan.ID, Player: player, Session: session, OnState: func(state protocol.MatchState) { first = state.Own.Score }}))
		answerAll(1) // player's answer is the same again
		c.passUntil(plan, PhaseOpen, 2)
		var own struct{ Data protocol.Own }
		c.requireNoError(json.Unmarshal(session.lastRawOfType(c, protocol.TypeOwn), &own))
		if first <= 0 || own.Data.Question != 1 || own.Data.Score != first+own.Data.Points || own.Data.Points <= 0 {
			c.Errorf("match.state has the score %d, the next result is %+v", first, own.Data)
		}
	})
}

// A node that wants to close a question finds that everyone has answered the
// next question. It sends the personal results of the next question.
func TestLateCloseSendsPersonalResultsOfNextQuestion(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n, other, plan := c.startNode(), c.startNode(), newArena(Survival, 3)
		sessions := c.createArenaWithPlayers(plan, FullListPlayers+1, n)
		answer := func(answeringNode *node, i, question int, given protocol.Given) {
			if _, err := answeringNode.answer(plan, plan.arenaSeat(i).Player, question, given); err != nil {
				c.Error(err)
			}
		}
		c.requireNoError(n.StartArena(c.Context(), plan.ID))
		c.passUntil(plan, PhaseOpen, 0)
		for i := range sessions[1:] {
			answer(n, i+1, 0, rightAnswer(&plan.Questions[0]))
		}
		resumeReads := make(chan struct{})
		n.store.setFault(func(method, _ string) fault {
			switch method {
			case "Read":
				<-resumeReads
			case "ListDue", "ReadProgress":
				return failsBefore
			}
			return noFault
		})
		var lastAnswer sync.WaitGroup
		lastAnswer.Go(func() { answer(n, 0, 0, rightAnswer(&plan.Questions[0])) })
		c.passUntil(plan, PhaseOpen, 1)
		other.store.setFault(failsStepsAndSearches)
		answer(other, 0, 1, wrongAnswer(&plan.Questions[1]))
		for i := range sessions[1:] {
			answer(other, i+1, 1, rightAnswer(&plan.Questions[1]))
		}
		close(resumeReads)
		lastAnswer.Wait()
		synctest.Wait()
		for i, session := range sessions {
			own := string(session.lastRawOfType(c, protocol.TypeOwn))
			if !strings.Contains(own, `"question":1,"given":{"`) || strings.Contains(own, `"correct":true`) != (i > 0) {
				c.Errorf("player %d: %s", i, own)
			}
		}
	})
}

// lastRawOfType returns the newest frame of a type as pushed.
func (session *frameRecorder) lastRawOfType(t testing.TB, kind string) (last []byte) {
	t.Helper()
	for _, frame := range session.frames() {
		if decodeFrame(t, frame).Type == kind {
			last = frame
		}
	}
	return last
}
