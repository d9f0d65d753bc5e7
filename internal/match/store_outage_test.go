package match

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/protocol"
)

// The store fails for 5 s in each phase. The match continues, and nothing is
// lost.
func TestMatchContinuesAfterStoreOutage(t *testing.T) {
	t.Parallel()
	for _, phase := range []Phase{PhaseCountdown, PhaseOpen, PhaseRevealed} {
		runNamedInCluster(t, string(phase), func(c *cluster) {
			n := c.startNode()
			sessionA, sessionB := n.openSession(ada), n.openSession(bob)
			plan := n.startDuel(c, 3)
			question := map[Phase]int{PhaseCountdown: -1}[phase]
			c.passUntil(plan, phase, question)
			n.store.setFault(func(string, string) fault { return failsBefore })
			time.Sleep(5 * time.Second)
			n.store.setFault(nil)
			if phase == PhaseRevealed { // there is no answer to question 0
				c.passUntil(plan, PhaseOver, 2)
				c.checkWholeLog(plan, sessionA)
				return
			}
			c.answerEverythingRight(plan, n, n)
			c.checkPlayedToEnd(plan, sessionA, sessionB)
		})
	}
}

// After a short fault the step is retried soon.
func TestFailedStepIsRetriedSoon(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		n.openSession(ada)
		plan := n.startDuel(c, 1)
		time.Sleep(2950 * time.Millisecond)
		n.store.setFault(func(string, string) fault { return failsBefore })
		time.Sleep(300 * time.Millisecond)
		n.store.setFault(nil)
		c.passUntil(plan, PhaseOpen, 0)
		if delayMS := now() - plan.StartsAt; delayMS > 600 {
			c.Errorf("%d ms late", delayMS)
		}
	})
}

// An outage delays the opening of a question. The question is then open for its
// full limit.
func TestLateQuestionIsOpenForItsFullLimit(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		session := n.openSession(ada)
		plan := n.startDuel(c, 1)
		n.store.setFault(func(string, string) fault { return failsBefore })
		time.Sleep(6 * time.Second)
		n.store.setFault(nil)
		c.passUntil(plan, PhaseOpen, 0)
		asked := session.lastOfType(c, "question").Data
		if asked.OpensAt < plan.StartsAt+3000 || now()-asked.OpensAt > 100 || asked.ClosesAt != asked.OpensAt+plan.LimitMS {
			c.Errorf("at %d: %+v", now(), asked)
		}
	})
}

// A third of all calls execute and lose their reply, or fail. Nothing that is
// retried is applied twice.
func TestStepsWithLostRepliesAreAppliedOnce(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]fault{"replies lost": losesReply, "calls failed": failsBefore} {
		runNamedInCluster(t, name, func(c *cluster) {
			nodeA, nodeB := c.startNode(), c.startNode()
			plan, sessionA, sessionB := c.startDuelAt(nodeA, nodeB, 10)
			for _, n := range []*node{nodeA, nodeB} {
				n.store.setFault(func(string, string) fault {
					if rand.IntN(3) == 0 {
						return failure
					}
					return noFault
				})
			}
			c.answerEverythingRight(plan, nodeA, nodeB)
			nodeA.store.setFault(nil)
			nodeB.store.setFault(nil)
			c.sleep(2 * time.Second)
			c.checkPlayedToEnd(plan, sessionA, sessionB)
		})
	}
}

// The client library repeats a script whose reply was lost. Other commits may
// have pushed in between. Every frame must keep its number, and every answer counts once.
func TestRepeatedAnswerKeepsPushNumbers(t *testing.T) {
	t.Parallel()
	for name, testCase := range map[string]struct{ otherCommits, knowsAnswers bool }{
		"accepted after a read, no other commit between": {false, false},
		"accepted after a read, another commit between":  {true, false},
		"accepted at once, no other commit between":      {false, true},
		"accepted at once, another commit between":       {true, true},
	} {
		runNamedInCluster(t, name, func(c *cluster) {
			n := c.startNode()
			sessionA, sessionB := n.openSession(ada), n.openSession(bob)
			plan := n.openDuel(c, 1)
			if !testCase.knowsAnswers {
				n.findLocalMatch(plan.ID).duel = duelAnswers{}
			}
			n.store.betweenRuns = func() {
				n.store.setFault(nil)
				if testCase.otherCommits {
					c.commitElsewhere(plan, bob, 0)
				}
			}
			n.store.setFault(func(method, _ string) fault {
				return map[bool]fault{true: runsTwice}[method == "Commit" || method == "Step"]
			})
			n.answerRight(plan, ada, 0)
			if _, err := n.answer(plan, bob, 0, rightAnswer(&plan.Questions[0])); (err != nil) != testCase.otherCommits {
				c.Errorf("the other player's answer: %v", err)
			}
			time.Sleep(time.Millisecond)
			synctest.Wait()
			c.checkWholeLog(plan, sessionA, sessionB)
			if state := c.store.state(plan.ID); state.Phase != PhaseRevealed || state.Answered != 2 {
				c.Errorf("%+v", state)
			}
		})
	}
}

// commitElsewhere commits a wrong answer of which this node gets no message.
func (c *cluster) commitElsewhere(plan *Plan, player string, question int) {
	c.Helper()
	state := c.store.state(plan.ID)
	record := judgeSubmission(c, plan, state, Submission{Player: player, ArrivedAt: now(), Answer: answerTo(plan, question, wrongAnswer(&plan.Questions[question]))})
	view, err := c.store.Read(c.Context(), ReadQuery{Match: plan.ID, Players: plan.duelPlayers(), AfterSeq: -1})
	c.requireNoError(err)
	view.Records[player], view.Totals[player] = record, view.Totals[player].withRecord(record)
	view.Answered++
	accept := newStep(plan, view, view.State)
	accept.Version, accept.Pushes = view.Version, []protocol.NumberedPush{answerSeenPush(plan, question, player)}
	accept.Answer = &StepAnswer{Attempt{Match: plan.ID, ID: newID(), Record: record, Mode: Duel}, view.Totals[player]}
	if view.hasAllAnswers() {
		reveal, _ := nextStep(plan, view, now(), 0)
		accept = accept.followedBy(reveal)
	}
	accept.ID = accept.Answer.ID
	if result, err := c.store.Step(c.Context(), accept); err != nil || !result.Applied {
		c.Fatalf("%+v, %v", result, err)
	}
}

// If a step was applied and its pushes were not delivered, recovery delivers
// them, also at the end of a match.
func TestEndIsPushedAfterFailedDelivery(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		session := n.openSession(ada)
		plan := n.startDuel(c, 2)
		c.passUntil(plan, PhaseOpen, 1)
		n.store.setFault(func(method, id string) fault {
			switch phase := c.store.state(plan.ID).Phase; {
			case method == "Step" && phase == PhaseSealed: // the end: another push comes before it
				c.store.mu.Lock()
				defer c.store.mu.Unlock()
				c.store.matches[id].push(answerSeenPush(plan, 1, bob))
			case method == "Read" && phase == PhaseOver:
				return failsBefore
			}
			return noFault
		})
		c.requireNoError(n.Leave(c.Context(), plan.ID, bob))
		time.Sleep(60 * time.Millisecond)
		if synctest.Wait(); session.countType(c, protocol.TypeMatchOver) > 0 {
			c.Error("the gap before the end was filled without a read")
		}
		n.store.setFault(nil)
		c.sleep(1100 * time.Millisecond)
		c.checkWholeLog(plan, session)
		if len(n.results()) != 1 {
			c.Errorf("%d results", len(n.results()))
		}
	})
}
