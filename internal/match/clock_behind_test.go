package match

import (
	"testing"
	"time"
)

// A node's clock is 9.5 s behind the clock of the node that opens the
// questions. Its player's answer would seem very fast. It counts as late as the
// limit, so it earns no speed points, and the reply contains that time.
func TestClockThatIsBehindEarnsNoSpeedPoints(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		ahead, behind := c.startNodeAhead(9500*time.Millisecond), c.startNode()
		ahead.openSession(ada)
		session := behind.openSession(bob)
		plan := newPlan("m_1", ahead.Now()+3000, 2)
		c.requireNoError(ahead.StartDuel(c.Context(), plan))
		c.requireNoError(behind.AttachSession(c.Context(), "demo", plan.ID, bob))
		c.passUntil(plan, PhaseOpen, 0)
		time.Sleep(1500 * time.Millisecond)
		got, err := behind.answer(plan, bob, 0, rightAnswer(&plan.Questions[0]))
		if err != nil || got.ElapsedMS != plan.LimitMS {
			c.Fatalf("%+v, %v", got, err)
		}
		c.passUntil(plan, PhaseRevealed, 0)
		for _, result := range session.lastOfType(c, "question.closed").Data.Results {
			if result.Player == bob && (result.Points != 100 || *result.ElapsedMS != plan.LimitMS) {
				c.Errorf("%+v", result)
			}
		}
	})
}
