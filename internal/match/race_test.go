package match

import (
	"sync"
	"testing"
	"time"

	"laststand/internal/protocol"
)

// Right answers arrive at three nodes at the same time. One is first, and its
// reply agrees with the push to everyone.
func TestExactlyOneRightAnswerIsFirst(t *testing.T) {
	t.Parallel()
	for name, storeFault := range map[string]func(string, string) fault{
		"fast": nil,
		"slow": func(string, string) fault {
			time.Sleep(5 * time.Millisecond)
			return noFault
		},
	} {
		runNamedInCluster(t, name, func(c *cluster) {
			nodes := []*node{c.startNode(), c.startNode(), c.startNode()}
			plan := newArena(Buzzer, 1, "red", "blue")
			sessions := c.startArena(plan, 30, nodes...)
			for _, n := range nodes {
				n.store.setFault(storeFault)
			}
			var mu sync.Mutex
			var firstPlayers []string
			var running sync.WaitGroup
			for i := range sessions {
				running.Go(func() {
					player := plan.arenaSeat(i).Player
					reply, err := nodes[i%3].answer(plan, player, 0, rightAnswer(&plan.Questions[0]))
					mu.Lock()
					defer mu.Unlock()
					switch {
					case err == nil && *reply.First && *reply.Correct:
						firstPlayers = append(firstPlayers, player)
					case errorCode(err) != "question_closed":
						c.Errorf("%+v, %v", reply, err)
					}
				})
			}
			running.Wait()
			c.passUntil(plan, PhaseOver, 0)
			closed := sessions[4].lastOfType(c, protocol.TypeQuestionClosed).Data
			if len(firstPlayers) != 1 || closed.First == nil || closed.First.Player != firstPlayers[0] || closed.Reason != closeReasonFirstCorrect || closed.Answered != 1 {
				c.Errorf("%v were told that they are first; %+v", firstPlayers, closed)
			}
		})
	}
}

// A late answer does not affect earlier answers that are still being processed.
func TestLateAnswerDoesNotCloseQuestion(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		plan := newArena(Buzzer, 1)
		c.startArena(plan, 2, n)
		closesAt := c.store.state(plan.ID).ClosesAt
		time.Sleep(time.Duration(closesAt+50-now()) * time.Millisecond)
		submit := func(i int, arrivedAt int64) (protocol.Answered, error) {
			reply, afterReply, err := n.Answer(c.Context(), Submission{
				Player: plan.arenaSeat(i).Player, ArrivedAt: arrivedAt, Answer: answerTo(plan, 0, rightAnswer(&plan.Questions[0])),
			})
			afterReply()
			return reply, err
		}
		if _, err := submit(0, closesAt+1); errorCode(err) != "question_closed" {
			c.Errorf("%v", err)
		}
		if reply, err := submit(1, closesAt); err != nil || !*reply.First {
			c.Errorf("%+v, %v", reply, err)
		}
		repeated, err := submit(1, closesAt)
		if err != nil || !*repeated.First || repeated.At != closesAt {
			c.Errorf("again: %+v, %v", repeated, err)
		}
	})
}

// While many players answer the previous question, their answers must not slow down the
// next one: the node knows that the question is closed and does not read the match.
func TestAnswerToPreviousQuestionReadsNoMatch(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		plan := newArena(Buzzer, 2)
		c.startArena(plan, 2, n)
		winner, latePlayer, right := plan.arenaSeat(0).Player, plan.arenaSeat(1).Player, rightAnswer(&plan.Questions[0])
		n.mustAnswer(plan, winner, 0, right)
		c.passUntil(plan, PhaseOpen, 1)
		n.store.recordReads()
		n.answerRefused(plan, latePlayer, 0, right, "question_closed")
		if reply, err := n.answer(plan, winner, 0, right); err != nil || !*reply.First {
			c.Errorf("again: %+v, %v", reply, err)
		}
		if reads := n.store.recordReads(); len(reads) > 0 {
			c.Errorf("the match was read: %+v", reads)
		}
	})
}

// A wrong answer locks its player out, and the team for a while.
func TestWrongBuzzerAnswerLocksOutTeam(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB := c.startNode(), c.startNode()
		plan := newArena(Buzzer, 1, "red", "blue")
		plan.Arena.TeamLockoutMS = 2000
		c.createArenaWithPlayers(plan, 6, nodeA, nodeB, nodeB, nodeA) // 0, 2 and 4 are red
		c.requireNoError(nodeA.StartArena(c.Context(), plan.ID))
		c.passUntil(plan, PhaseOpen, 0)
		question := &plan.Questions[0]
		if reply, err := nodeA.answer(plan, plan.arenaSeat(0).Player, 0, wrongAnswer(question)); err != nil || *reply.Correct || *reply.First {
			c.Fatalf("%+v, %v", reply, err)
		}
		nodeA.answerRefused(plan, plan.arenaSeat(0).Player, 0, rightAnswer(question), "duplicate_answer")
		time.Sleep(500 * time.Millisecond)
		for _, given := range []protocol.Given{rightAnswer(question), wrongAnswer(question)} {
			_, err := nodeB.answer(plan, plan.arenaSeat(2).Player, 0, given)
			if refused, ok := err.(*protocol.Error); !ok || refused.Code != protocol.CodeQuestionNotOpen || refused.RetryAfterMS != 1500 { //nolint:errorlint // it is not wrapped
				c.Errorf("%v", err)
			}
		}
		time.Sleep(1500 * time.Millisecond)
		if reply, err := nodeB.answer(plan, plan.arenaSeat(2).Player, 0, rightAnswer(question)); err != nil || !*reply.First {
			c.Errorf("after the lockout: %+v, %v", reply, err)
		}
	})
}

// If all answers are wrong, the question closes at once.
func TestQuestionClosesWhenAllAnswersAreWrong(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		plan := newArena(Buzzer, 2)
		sessions := c.startArena(plan, 3, n)
		c.store.removePlace(plan.ID, plan.arenaSeat(2).Player)
		n.Expel(c.Context(), plan.ID, plan.arenaSeat(2).Player, nil)
		for i := range 2 {
			n.answerWrong(plan, plan.arenaSeat(i).Player, 0)
		}
		if closed := sessions[0].lastOfType(c, protocol.TypeQuestionClosed).Data; closed.Reason != closeReasonAllAnswered || closed.First != nil || closed.Answered != 2 {
			c.Errorf("%+v", closed)
		}
	})
}

// Answers in a survival match, by players who are in and who are out.
func TestEliminatedPlayersMayNotAnswer(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		plan := newArena(Survival, 3)
		sessions := c.startArena(plan, 3, n)
		for i := range sessions {
			given := rightAnswer(&plan.Questions[0])
			if i == 2 {
				given = wrongAnswer(&plan.Questions[0])
			}
			n.mustAnswer(plan, plan.arenaSeat(i).Player, 0, given)
		}
		for q, given := range []protocol.Given{wrongAnswer(&plan.Questions[0]), rightAnswer(&plan.Questions[1]), {Value: []byte("{}")}} {
			if q == 1 {
				c.passUntil(plan, PhaseOpen, 1)
			}
			question := min(q, 1)
			n.answerRefused(plan, plan.arenaSeat(2).Player, question, given, "eliminated")
		}
		n.answerRefused(plan, plan.arenaSeat(2).Player, 2, rightAnswer(&plan.Questions[2]), "question_not_open")
		if closed := sessions[2].lastOfType(c, protocol.TypeQuestionClosed).Data; closed.Void || !closed.Results[2].Out && !closed.Results[0].Out && !closed.Results[1].Out {
			c.Errorf("%+v", closed)
		}
		c.passUntil(plan, PhaseRevealed, 1) // there are no answers: the question is void
		if closed := sessions[2].lastOfType(c, protocol.TypeQuestionClosed).Data; !closed.Void || len(closed.Results) != 2 {
			c.Errorf("%+v", closed)
		}
		c.passUntil(plan, PhaseOver, 2)
		if result, _ := c.store.result(plan.ID); result.Questions != 1 || result.Winner != "" && result.Standings[0].TimeMS == result.Standings[1].TimeMS {
			c.Errorf("%+v", result)
		}
	})
}
