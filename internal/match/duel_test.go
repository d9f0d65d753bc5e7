package match

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestDuelOfRightAndWrongAnswersIsWon(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		sessionA, sessionB := n.openSession(ada), n.openSession(bob)
		plan := n.startDuel(c, 5)
		var score, timeMS int64
		for i := range plan.Questions {
			c.passUntil(plan, PhaseOpen, i)
			shownQuestion := sessionA.lastOfType(c, "question").Data
			if delayMS := now() - shownQuestion.OpensAt; shownQuestion.Question != i || delayMS < 0 || delayMS > 40 || shownQuestion.ClosesAt != shownQuestion.OpensAt+10_000 {
				c.Fatalf("question %d at %d: %+v", i, now(), shownQuestion)
			}
			time.Sleep(1234 * time.Millisecond)
			reply, err := n.answer(plan, ada, i, rightAnswer(&plan.Questions[i]))
			if err != nil || reply.At != now() || reply.ElapsedMS != now()-shownQuestion.OpensAt || reply.Question != i {
				c.Fatalf("%+v, %v", reply, err)
			}
			score += 100 + 100*(10_000-reply.ElapsedMS)/10_000
			timeMS += reply.ElapsedMS
			if answerSeen := sessionB.lastOfType(c, "answer.seen").Data; answerSeen.Player != ada || answerSeen.Question != i {
				c.Fatalf("%+v", answerSeen)
			}
			n.answerWrong(plan, bob, i)
			closed := sessionB.lastOfType(c, "question.closed").Data
			if closed.Question != i || closed.Reason != closeReasonAllAnswered || closed.Results[0].Score != score || closed.Results[1].Points != 0 {
				c.Fatalf("%+v", closed)
			}
		}
		c.passUntil(plan, PhaseOver, 4)
		over := sessionA.lastOfType(c, "match.over").Data
		first := over.Standings[0]
		if over.Winner != ada || over.Reason != "finished" || first.Score != score || first.TimeMS != timeMS || first.Correct != 5 {
			c.Errorf("%+v, want score %d in %d ms", over, score, timeMS)
		}
		if second := over.Standings[1]; second.Score != 0 || second.TimeMS != 50_000 || second.Answered != 5 || *second.RatingDelta >= 0 {
			c.Errorf("%+v", second)
		}
		c.checkWholeLog(plan, sessionA, sessionB)
		c.checkStepsAppliedOnce()
		if results := n.results(); len(results) != 1 || results[0].Winner != ada {
			c.Errorf("OnResult got %v", results)
		}
	})
}

func TestDuelWithoutAnswersIsADraw(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		session := n.openSession(ada)
		plan := n.startDuel(c, 2)
		for i := range plan.Questions {
			c.passUntil(plan, PhaseOpen, i)
			shownQuestion := session.lastOfType(c, "question").Data
			c.passUntil(plan, PhaseRevealed, i)
			if delayMS := now() - shownQuestion.ClosesAt; delayMS < answerGraceMS || delayMS > answerGraceMS+60 {
				c.Errorf("sealed %d ms after its close", delayMS)
			}
			closed := session.lastOfType(c, "question.closed").Data
			if closed.Reason != closeReasonTimeout || closed.Results[0].ElapsedMS != nil || closed.Results[0].Score != 0 {
				c.Errorf("%+v", closed)
			}
		}
		c.passUntil(plan, PhaseOver, 1)
		result, _ := c.store.result(plan.ID)
		for _, entry := range result.Standings {
			if entry.Rank != 1 || entry.TimeMS != 20_000 || entry.Score != 0 || entry.Asked != 2 {
				c.Errorf("%+v", entry)
			}
		}
		if result.Winner != "" || result.StartedAt != plan.StartsAt {
			c.Errorf("%+v", result)
		}
	})
}

// An answer that arrived at the close counts, although it is processed during
// the grace period.
func TestArrivalTimeDecidesWhetherAnswerIsInTime(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		plan := n.openDuel(c, 1)
		state := c.store.state(plan.ID)
		time.Sleep(time.Duration(state.ClosesAt-now()+100) * time.Millisecond)
		submit := func(player string, arrivedAt int64) string {
			_, afterReply, err := n.Answer(c.Context(), Submission{Player: player, ArrivedAt: arrivedAt, Answer: answerTo(plan, 0, rightAnswer(&plan.Questions[0]))})
			afterReply()
			return errorCode(err)
		}
		late := make(chan string)
		go func() { late <- submit(bob, state.ClosesAt+1) }()
		synctest.Wait()
		if code := submit(ada, state.ClosesAt); code != "" {
			c.Errorf("at the close: %q", code)
		}
		if code := <-late; code != "question_closed" {
			c.Errorf("a ms after the close: %q", code)
		}
	})
}

func TestForfeitInEachPhase(t *testing.T) {
	t.Parallel()
	for name, testCase := range map[string]struct {
		phase       Phase
		question    int
		asked       int
		keepsPoints bool // bob's points of question 0
	}{
		"countdown": {PhaseCountdown, -1, 0, false},
		"open":      {PhaseOpen, 0, 0, false},
		"revealed":  {PhaseRevealed, 0, 1, true},
		"open next": {PhaseOpen, 1, 1, true},
	} {
		runNamedInCluster(t, name, func(c *cluster) {
			n := c.startNode()
			session := n.openSession(bob)
			plan := n.startDuel(c, 3)
			if testCase.question >= 0 {
				c.passUntil(plan, PhaseOpen, 0)
				n.answerRight(plan, bob, 0)
			}
			c.passUntil(plan, testCase.phase, testCase.question)
			if testCase.question == 1 {
				n.answerRight(plan, bob, 1)
			}
			c.requireNoError(n.Leave(c.Context(), plan.ID, ada))
			over := session.lastOfType(c, "match.over").Data
			if over.Winner != bob || over.Reason != "forfeit" || over.Standings[0].Asked != testCase.asked || over.Standings[0].Score > 0 != testCase.keepsPoints {
				c.Errorf("%+v", over)
			}
			wantResults := min(testCase.asked, 1) // a duel without a closed question leaves no result
			if result, ok := c.store.result(plan.ID); ok != (wantResults == 1) || ok && (result.StartedAt == 0 || result.StartedAt > result.OverAt) {
				c.Errorf("a result: %v, from %d to %d", ok, result.StartedAt, result.OverAt)
			}
			c.checkWholeLog(plan, session)
			if err := n.Leave(c.Context(), plan.ID, ada); err != nil || len(n.results()) != wantResults {
				c.Errorf("leaving again: %v, %d results", err, len(n.results()))
			}
			if err := n.Leave(c.Context(), plan.ID, "p_eve"); err == nil {
				c.Error("a player without a seat could leave")
			}
		})
	}
}

// Both players leave at the same time at two nodes. The first to leave loses.
func TestConcurrentForfeitsHaveOneLoser(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB := c.startNode(), c.startNode()
		plan, sessionA, sessionB := c.startDuelAt(nodeA, nodeB, 3)
		c.passUntil(plan, PhaseOpen, 1)
		var leaving sync.WaitGroup
		leaving.Go(func() {
			if err := nodeA.Leave(c.Context(), plan.ID, ada); err != nil {
				c.Error(err)
			}
		})
		leaving.Go(func() {
			if err := nodeB.Leave(c.Context(), plan.ID, bob); err != nil {
				c.Error(err)
			}
		})
		leaving.Wait()
		time.Sleep(2 * time.Second)
		c.checkWholeLog(plan, sessionA, sessionB)
		if results := len(nodeA.results()) + len(nodeB.results()); results != 1 {
			c.Errorf("%d results", results)
		}
	})
}

func TestBotAnswersEveryQuestion(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		session := n.openSession(ada)
		bot := NewBot()
		plan := n.startBotDuel(c, 5, bot)
		c.passUntil(plan, PhaseOver, 4)
		c.checkWholeLog(plan, session)
		over := session.lastOfType(c, "match.over").Data
		if over.Winner != bot.Player || over.Standings[0].Answered != 5 || over.Standings[0].Rating != nil {
			c.Errorf("%+v", over)
		}
		result, _ := c.store.result(plan.ID)
		if result.CountsForLeaderboards || !result.Standings[0].Bot || session.countType(c, "answer.seen") != 5 {
			c.Errorf("%+v", result)
		}
	})
}

// Every node that holds the match plays the bot. It answers even if the node
// that opened the question is dead.
func TestBotAnswersAfterNodeDies(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB := c.startNode(), c.startNode()
		nodeA.openSession(ada)
		plan := nodeA.startBotDuel(c, 1, NewBot())
		c.passUntil(plan, PhaseOpen, 0)
		nodeA.kill()
		time.Sleep(time.Second)
		session := nodeB.attach(plan, ada, 0)
		c.passUntil(plan, PhaseOver, 0)
		botResult := session.lastOfType(c, "question.closed").Data.Results[1]
		plannedDelay, _ := planBotAnswer(plan, 0, plan.Seats[1].Player)
		if botResult.ElapsedMS == nil || *botResult.ElapsedMS < plannedDelay.Milliseconds() || *botResult.ElapsedMS > plannedDelay.Milliseconds()+60 {
			c.Errorf("the bot planned %v and answered %+v", plannedDelay, botResult)
		}
	})
}

// A match that is over can be read for endedTTLMS. Then the node drops it
// completely.
func TestEndedMatchIsDropped(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n, lateNode := c.startNode(), c.startNode()
		n.openSession(ada)
		plan := n.startDuel(c, 1)
		if !n.IsInMatch("demo", ada) {
			c.Error("not seated at the start")
		}
		c.passUntil(plan, PhaseOver, 0)
		if n.IsInMatch("demo", ada) {
			c.Error("seated at the end")
		}
		time.Sleep(5 * time.Minute)
		lateSession := lateNode.openSession(bob)
		if err := lateNode.Attach(c.Context(), AttachRequest{Match: plan.ID, Player: bob, Session: lateSession}); err != nil {
			c.Errorf("5 minutes later: %v", err)
		}
		c.checkWholeLog(plan, lateSession)
		c.sleep(2 * time.Minute)
		n.answerRefused(plan, ada, 0, rightAnswer(&plan.Questions[0]), "not_in_match")
		time.Sleep(5 * time.Minute)
		for _, n := range []*node{n, lateNode} {
			if matches, players := n.countLocalMatches(); matches != 0 || players != 0 {
				c.Errorf("%d matches and %d players stay", matches, players)
			}
		}
	})
}

// An answer to a match that is over makes a node load the match. The node drops
// it later, too.
func TestMatchLoadedByRefusedAnswerIsDropped(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n, other := c.startNode(), c.startNode()
		n.openSession(ada)
		plan := n.startDuel(c, 1)
		c.passUntil(plan, PhaseOver, 0)
		if matches, _ := other.countLocalMatches(); matches != 0 {
			c.Fatal("the other node has loaded the match before")
		}
		other.answerRefused(plan, ada, 0, rightAnswer(&plan.Questions[0]), "question_closed")
		time.Sleep(10 * time.Minute)
		if matches, _ := other.countLocalMatches(); matches != 0 {
			c.Error("the node still holds the match")
		}
	})
}
