package match

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// A bot always gives a well-formed answer. It is right or wrong as intended.
func TestBotAnswersRightOrWrongAsPlanned(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		question := rapid.SampledFrom(sampleQuestions).Draw(t, "question")
		right := rapid.Bool().Draw(t, "right")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		normalized, err := question.Normalize(botAnswerContent(question, right, rng))
		if err != nil {
			t.Fatal(err)
		}
		if question.IsCorrect(normalized) != right {
			t.Fatalf("%s: %s is right: %v, want %v", question.Kind, normalized, !right, right)
		}
	})
}

func TestBotsPlayAlikeOnEveryNode(t *testing.T) {
	t.Parallel()
	plan := newPlan("m_1", 0, 5)
	delays := map[time.Duration]bool{}
	for i := range plan.Questions {
		delay, given := planBotAnswer(plan, i, "bot_1")
		repeatedDelay, repeatedGiven := planBotAnswer(plan, i, "bot_1")
		if delay != repeatedDelay || encoded(t, given) != encoded(t, repeatedGiven) {
			t.Errorf("question %d: after %v, after %v", i, delay, repeatedDelay)
		}
		if delay < 1500*time.Millisecond || delay > 6*time.Second {
			t.Errorf("question %d: after %v", i, delay)
		}
		delays[delay] = true
	}
	if len(delays) < 2 {
		t.Error("a bot always takes the same time")
	}
}

// A late answer of a bot does not wait for the close: the wheel has few workers.
func TestLateBotIsRefusedAtOnce(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n, bot := c.startNode(), NewBot()
		n.openSession(ada)
		plan := n.startBotDuel(c, 1, bot)
		c.passUntil(plan, PhaseOpen, 0)
		open := c.store.state(plan.ID)
		n.store.setFault(faultOf(failsBefore, "Step")) // the bot cannot answer in time
		c.sleep(time.Duration(open.ClosesAt+1-now()) * time.Millisecond)
		n.answerRefused(plan, bot.Player, 0, rightAnswer(&plan.Questions[0]), "question_closed")
		if late := now() - open.ClosesAt; late != 1 {
			c.Errorf("it was refused %d ms after the end", late)
		}
	})
}

func TestBotAnswersAgainAfterStoreError(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		n.openSession(ada)
		plan := n.startBotDuel(c, 1, NewBot())
		c.passUntil(plan, PhaseOpen, 0)
		failed := 0
		n.store.setFault(func(method, _ string) fault {
			if method != "Step" {
				return noFault
			}
			failed++
			return failsBefore
		})
		plannedDelay, _ := planBotAnswer(plan, 0, plan.Seats[1].Player)
		time.Sleep(plannedDelay + storeRetryDelay/2)
		n.store.setFault(nil)
		c.sleep(storeRetryDelay)
		if state := c.store.state(plan.ID); failed != 1 || state.Answered != 1 {
			c.Errorf("%d answers failed; state %+v", failed, state)
		}
	})
}

// A bot whose answers all fail stops when the question closes.
func TestBotStopsWhenQuestionCloses(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		n.openSession(ada)
		plan := n.startBotDuel(c, 1, NewBot())
		attempts := 0
		n.store.setFault(func(method, _ string) fault {
			if state := c.store.state(plan.ID); state.Phase != PhaseOpen || now() > state.ClosesAt || method != "Step" && method != "Commit" {
				return noFault
			}
			attempts++
			return failsBefore
		})
		c.passUntil(plan, PhaseOver, 0)
		before := attempts
		time.Sleep(time.Minute)
		if synctest.Wait(); before < 5 || attempts > before {
			c.Errorf("%d attempts until the end, %d after it", before, attempts-before)
		}
	})
}
