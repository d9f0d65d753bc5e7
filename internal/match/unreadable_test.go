package match

import (
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// startNodeThatCannotRead returns a node that cannot read any match, as if its form
// differed.
func (c *cluster) startNodeThatCannotRead() *node {
	n := c.startNode()
	n.store.setFault(faultOf(unreadableMatch, "Read"))
	return n
}

// Players of a match that a node cannot read count as not playing at that node.
// The match continues at other nodes.
func TestUnreadableMatchCountsAsMissing(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		readingNode, nonReadingNode := c.startNode(), c.startNodeThatCannotRead()
		session := readingNode.openSession(ada)
		plan := readingNode.openDuel(c, 2)
		if status, err := nonReadingNode.Status(c.Context(), plan.ID); err != nil || status.Running {
			c.Errorf("%+v, %v", status, err)
		}
		if err := nonReadingNode.CheckSeat(c.Context(), plan.ID, ada); !errors.Is(err, ErrNotFound) {
			c.Errorf("%v", err)
		}
		nonReadingNode.answerRefused(plan, ada, 0, rightAnswer(&plan.Questions[0]), "not_in_match")
		if n := testutil.ToFloat64(nonReadingNode.metrics.unreadable.WithLabelValues(ReasonOlderForm)); n != 3 {
			c.Errorf("counted %v times", n)
		}
		c.passUntil(plan, PhaseOver, 1)
		c.checkWholeLog(plan, session)
	})
}

// A node that holds a match and cannot read it for a while does not end it.
func TestHeldMatchSurvivesUnreadableReads(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		session := n.openSession(ada)
		plan := n.openDuel(c, 2)
		n.store.setFault(faultOf(unreadableMatch, "Read"))
		if err := n.Attach(c.Context(), AttachRequest{Match: plan.ID, Player: bob, Session: n.openSession(bob)}); !errors.Is(err, ErrUnreadable) {
			c.Errorf("a sync: %v", err)
		}
		n.store.setFault(nil)
		if n := testutil.ToFloat64(n.metrics.ends.WithLabelValues(string(Duel), string(ReasonAbandoned))); n != 0 {
			c.Errorf("%v matches ended as abandoned", n)
		}
		c.passUntil(plan, PhaseOver, 1)
		c.checkWholeLog(plan, session)
	})
}

// A text that is not a match id is not looked up in the store.
func TestMalformedMatchIDIsNotLookedUp(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		n.store.recordReads()
		for _, id := range []string{"", "m_1:lock:0:p_ada", "m_1:plan", "m{2}", string(make([]byte, 65))} {
			plan := newPlan(id, now(), 1)
			n.answerRefused(plan, ada, 0, rightAnswer(&plan.Questions[0]), "not_in_match")
			if err := n.Attach(c.Context(), AttachRequest{Match: id, Player: ada, Session: n.openSession(ada)}); !errors.Is(err, ErrNotFound) {
				c.Errorf("a sync of %q: %v", id, err)
			}
		}
		if reads := n.store.recordReads(); len(reads) > 0 {
			c.Errorf("the store was asked: %+v", reads)
		}
	})
}

// A match that no live node can read is removed after a minute, not before.
func TestUnreadableOverdueMatchIsRemoved(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		readingNode, nonReadingNode := c.startNode(), c.startNodeThatCannotRead()
		readingNode.openSession(ada)
		plan := readingNode.openDuel(c, 2)
		readingNode.kill()
		time.Sleep(time.Minute)
		if c.store.copyMatch(plan.ID) == nil {
			c.Error("the match is removed too early")
		}
		time.Sleep(30 * time.Second)
		if _, err := c.store.Read(c.Context(), ReadQuery{Match: plan.ID, AfterSeq: -1}); !errors.Is(err, ErrNotFound) {
			c.Errorf("the match is still stored: %v", err)
		}
		if n := testutil.ToFloat64(nonReadingNode.metrics.removedOrphans); n != 1 {
			c.Errorf("counted %v times", n)
		}
	})
}

// A node that can read the match returns within the minute. The match
// continues.
func TestUnreadableMatchContinuesWhenANodeCanReadIt(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		readingNode := c.startNode()
		c.startNodeThatCannotRead()
		readingNode.openSession(ada)
		plan := readingNode.openDuel(c, 2)
		readingNode.kill()
		time.Sleep(50 * time.Second)
		c.startNode()
		c.passUntil(plan, PhaseOver, 1)
		if _, hasResult := c.store.result(plan.ID); !hasResult {
			c.Error("the match has no result")
		}
	})
}

// A node that has just started, or has just reached the store again, removes no match. The
// nodes that can read the match need time to advance it, too.
func TestStartedNodeLeavesTimeToAdvanceUnreadableMatch(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		readingNode := c.startNode()
		readingNode.openSession(ada)
		plan := readingNode.openDuel(c, 2)
		readingNode.kill()
		time.Sleep(2 * time.Minute)
		nonReadingNode := c.startNode()
		c.cutStore(2*time.Minute, nonReadingNode)
		nonReadingNode.store.setFault(faultOf(unreadableMatch, "Read"))
		time.Sleep(50 * time.Second)
		c.startNode()
		c.passUntil(plan, PhaseOver, 1)
		if _, hasResult := c.store.result(plan.ID); !hasResult {
			c.Error("the match has no result")
		}
	})
}
