package eventq

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// Other nodes end the sessions of a dead node, once, with the time when it was
// last seen. The sessions of live nodes continue.
func TestSessionsOfADeadNodeEnd(t *testing.T) {
	withHall(t, func(h *hall) {
		a, b, c := h.node("a"), h.node("b"), h.node("c")
		const players = 1000
		for i := range players {
			a.Enter("demo", fmt.Sprint("p", i), "")
		}
		stays := b.Enter("demo", "stays", "")
		time.Sleep(time.Minute)
		died := now()
		a.die()
		time.Sleep(deadAfterMS*time.Millisecond - heartbeatInterval - time.Second/10)
		if early := h.reported(Offline); len(early) > 0 {
			t.Errorf("%d ended too early", len(early))
		}
		time.Sleep(3 * heartbeatInterval)
		ended := h.reported(Offline)
		for _, o := range ended {
			if o.At > died || o.At < died-heartbeatInterval.Milliseconds() {
				t.Fatalf("ended %d ms before the death", died-o.At)
			}
		}
		h.wantNoneAt("a")
		stays()
		h.pairs(players + 1)
		found := int(testutil.ToFloat64(b.counts.deadNodeSessions) + testutil.ToFloat64(c.counts.deadNodeSessions))
		if found != players+h.twice {
			t.Errorf("%d found, %d of them twice", found, h.twice)
		}
		if h.early > 0 {
			t.Errorf("%d were forgotten before their end was offered", h.early)
		}
	})
}

// A node has sessions soon after its first heartbeat.
func TestANodeThatHasOnlyBegunIsNotDead(t *testing.T) {
	withHall(t, func(h *hall) {
		h.node("a")
		time.Sleep(time.Minute)
		b := h.node("b")
		leave := b.Enter("demo", "ada", "")
		time.Sleep(2 * deadAfterMS * time.Millisecond)
		if early := h.reported(Offline); len(early) > 0 {
			t.Errorf("ended while it goes on: %+v", early)
		}
		leave()
		h.pairs(1)
	})
}

// Changes may wait for long while only their node does not reach the store. Their node
// is alive when they arrive.
func TestANodeIsAliveWhenItsSessionsArrive(t *testing.T) {
	withHall(t, func(h *hall) {
		a := h.node("a")
		time.Sleep(heartbeatInterval / 2)
		h.node("b") // its heartbeats are between those of a
		time.Sleep(time.Minute - heartbeatInterval/2)
		a.setCut(true)
		leave := a.Enter("demo", "ada", "")
		time.Sleep(2*deadAfterMS*time.Millisecond + heartbeatInterval/10)
		a.setCut(false)
		time.Sleep(deadAfterMS * time.Millisecond)
		if early := h.reported(Offline); len(early) > 0 {
			t.Errorf("ended while it goes on: %+v", early)
		}
		leave()
		h.pairs(1)
	})
}

// Two owners may report the same offline at once. Both reports are identical to
// the last byte.
func TestTwoOwnersReportTheSameIDs(t *testing.T) {
	withHall(t, func(h *hall) {
		a, b, c := h.node("a"), h.node("b"), h.node("c")
		a.Enter("demo", "ada", pi)
		h.recordedAt("a")
		a.die()
		visits, err := fakeNodes{b}.Sessions(t.Context(), "a", h.seen["a"], 10)
		if err != nil || len(visits) != 1 {
			t.Fatalf("%+v, %v", visits, err)
		}
		for _, owner := range []*testNode{b, c} { // each has read before the other has ended it
			owner.report(visits[0].Game, visits[0].Offline)
		}
		for _, owner := range []*testNode{b, c} {
			visits[0].Ended = true
			if err := (fakeNodes{owner}).SyncSessions(t.Context(), "a", visits); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		h.pairs(1)
		if h.twice != 1 {
			t.Errorf("offered %d times again", h.twice)
		}
	})
}

// If a node dies after a report and before it removes the record, another node
// repeats the report.
func TestDeathAfterTheEnd(t *testing.T) {
	withHall(t, func(h *hall) {
		a := h.node("a")
		leave := a.Enter("demo", "ada", "")
		h.recordedAt("a")
		h.setDown(true)
		leave()
		a.die()
		h.setDown(false)
		h.node("b")
		time.Sleep(time.Minute)
		h.pairs(1)
	})
}

// After an outage no node has renewed its sessions. No node counts as dead then,
// also if a node without sessions looks first.
func TestNobodyIsDeadByMistake(t *testing.T) {
	withHall(t, func(h *hall) {
		var nodes []*testNode
		for _, name := range []string{"a", "b", "c", "idle"} {
			nodes = append(nodes, h.node(name))
			time.Sleep(heartbeatInterval / 4) // they look at different times
		}
		for _, node := range nodes[:3] {
			node.Enter("demo", "at "+node.Node, "")
		}
		for _, outage := range []time.Duration{heartbeatInterval, NodeTTLMS * time.Millisecond, deadAfterMS * time.Millisecond, time.Minute} {
			time.Sleep(time.Minute)
			h.setDown(true)
			time.Sleep(outage)
			h.setDown(false)
		}
		time.Sleep(time.Minute)
		if ended := h.reported(Offline); len(ended) > 0 {
			t.Errorf("ended %+v", ended)
		}
	})
}

func TestContact(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reached []int64 // when, ms
		isLong  bool
	}{
		"just begun":              {[]int64{1000}, false},
		"not long enough":         {[]int64{1000, 2500, 3999}, false},
		"long enough":             {[]int64{1000, 2500, 4000}, true},
		"a gap":                   {[]int64{1000, 3001, 4000}, false},
		"long after a gap":        {[]int64{1000, 3001, 5000, 6001}, true},
		"a clock that jumps back": {[]int64{1000, 3000, 5000, 2500}, false},
		"a clock that jitters":    {[]int64{1000, 3000, 5000, 4500}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var w contact
			isLong := false
			for _, at := range c.reached {
				w.observe(3_600_000 + at)
				isLong = w.lasts(3_600_000+at, NodeTTLMS)
			}
			if isLong != c.isLong {
				t.Errorf("long enough: %v", isLong)
			}
		})
	}
}
