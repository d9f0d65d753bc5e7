package playerevents

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"laststand/internal/eventq"
)

// Other nodes end the sessions of a dead node, once, with the time when it was
// last seen. The sessions of live nodes continue.
func TestSessionsOfADeadNodeEnd(t *testing.T) {
	withCluster(t, func(h *cluster) {
		a, b, c := h.node("a", "a", "b", "c"), h.node("b", "a", "b", "c"), h.node("c", "a", "b", "c")
		const players = 1000
		for i := range players {
			a.Enter("demo", fmt.Sprint("p", i), "")
		}
		stays := b.Enter("demo", "stays", "")
		time.Sleep(time.Minute)
		died := now()
		a.die()
		time.Sleep(eventq.NodeTTLMS * time.Millisecond)
		b.setAlive("b", "c")
		c.setAlive("b", "c")
		time.Sleep((deadAfterMS - 1000) * time.Millisecond)
		if early := h.reported(eventq.Offline); len(early) > 0 {
			t.Errorf("%d ended too early", len(early))
		}
		time.Sleep(2 * renewInterval)
		ended := h.reported(eventq.Offline)
		for _, o := range ended {
			if o.At > died || o.At < died-renewInterval.Milliseconds() {
				t.Fatalf("ended %d ms before the death", died-o.At)
			}
		}
		h.wantNoneAt("a")
		stays()
		h.pairs(players + 1)
		found := int(testutil.ToFloat64(b.metrics.deadNodeSessions) + testutil.ToFloat64(c.metrics.deadNodeSessions))
		if found != players+h.twice {
			t.Errorf("%d found, %d of them twice", found, h.twice)
		}
		if h.early > 0 {
			t.Errorf("%d were forgotten before their end was offered", h.early)
		}
	})
}

// A node has sessions before others see its first heartbeat.
func TestANodeThatHasOnlyBegunIsNotDead(t *testing.T) {
	withCluster(t, func(h *cluster) {
		a := h.node("a", "a")
		time.Sleep(time.Minute)
		b := h.node("b", "a", "b")
		leave := b.Enter("demo", "ada", "")
		time.Sleep(2 * renewInterval)
		if early := h.reported(eventq.Offline); len(early) > 0 {
			t.Errorf("ended while it goes on: %+v", early)
		}
		a.setAlive("a", "b")
		leave()
		h.pairs(1)
	})
}

// Two owners may report the same offline at once. Both reports are identical to
// the last byte.
func TestTwoOwnersReportTheSameIDs(t *testing.T) {
	withCluster(t, func(h *cluster) {
		a, b, c := h.node("a", "a"), h.node("b", "b", "c"), h.node("c", "b", "c")
		a.Enter("demo", "ada", pi)
		h.recordedAt("a")
		a.die()
		visits, node, err := fakeSessionStore{b}.DeadNodeSessions(t.Context(), 7, []string{"b", "c"}, 10)
		if err != nil || node != "a" || len(visits) != 1 {
			t.Fatalf("%+v of %q, %v", visits, node, err)
		}
		for _, owner := range []*testNode{b, c} { // each has read before the other has ended it
			owner.Offer(visits[0].Game, visits[0].Offline)
		}
		for _, owner := range []*testNode{b, c} {
			if err := (fakeSessionStore{owner}).Remove(t.Context(), node, visits...); err != nil {
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
	withCluster(t, func(h *cluster) {
		a := h.node("a", "a")
		leave := a.Enter("demo", "ada", "")
		h.recordedAt("a")
		h.setDown(true)
		leave()
		a.die()
		h.setDown(false)
		h.node("b", "b")
		time.Sleep(time.Minute)
		h.pairs(1)
	})
}

// No node counts as dead while the service cannot know which are. That is so if
// the nodes are unknown, known only for a short time, or were not observed for a
// while.
func TestNobodyIsDeadByMistake(t *testing.T) {
	withCluster(t, func(h *cluster) {
		a, b := h.node("a", "a"), h.node("b")
		a.Enter("demo", "ada", "")
		time.Sleep(time.Minute) // nothing is known
		for range 5 {           // only itself, for a moment
			b.setAlive("b")
			time.Sleep(deadAfterMS / 2 * time.Millisecond)
			b.setAlive()
			time.Sleep(time.Minute)
		}
		b.setAlive("a", "b")
		time.Sleep(time.Minute)
		for range 5 { // the other has no beat now and then
			b.setAlive("b")
			time.Sleep(deadAfterMS / 2 * time.Millisecond)
			b.setAlive("a", "b")
			time.Sleep(time.Minute)
		}
		if ended := h.reported(eventq.Offline); len(ended) > 0 || testutil.ToFloat64(b.metrics.deadNodeSessions) > 0 {
			t.Errorf("ended %+v", ended)
		}
	})
}

func TestFailureDetector(t *testing.T) {
	t.Parallel()
	const begin = 1_000_000
	for name, c := range map[string]struct {
		looks  map[int64][]string // by when, ms
		at     int64
		living []string
	}{
		"never looked":            {nil, 10_000, nil},
		"not long enough":         {map[int64][]string{0: {"a"}, 3000: {"a"}, 6000: {"a"}}, 6999, nil},
		"long enough":             {map[int64][]string{0: {"a", "b"}, 3000: {"a", "b"}, 6000: {"a"}}, 7000, []string{"a", "b"}},
		"one is dead":             {map[int64][]string{0: {"a", "b"}, 3000: {"a"}, 6000: {"a"}}, 7000, []string{"a"}},
		"one comes":               {map[int64][]string{0: {"a"}, 3000: {"a"}, 6000: {"a", "b"}}, 7000, []string{"a", "b"}},
		"a gap":                   {map[int64][]string{0: {"a"}, 3000: {"a"}, 6001: {"a"}, 9000: {"a"}}, 9001, nil},
		"long after a gap":        {map[int64][]string{0: {"a", "b"}, 3001: {"a"}, 6000: {"a"}, 9000: {"a"}}, 10_001, []string{"a"}},
		"nobody for a moment":     {map[int64][]string{0: {"a"}, 3000: {}, 3001: {"a"}, 6000: {"a"}}, 7000, nil},
		"not looked at any more":  {map[int64][]string{0: {"a"}, 3000: {"a"}, 6000: {"a"}}, 9001, nil},
		"a clock that jumps back": {map[int64][]string{0: {"a"}, 3000: {"a"}, 6000: {"a"}}, -5000, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var w failureDetector
			for at := range c.at + 1 {
				if alive, looked := c.looks[at]; looked {
					w.observe(alive, begin+at)
				}
			}
			if c.at < 0 {
				for _, at := range []int64{0, 3000, 6000} {
					w.observe(c.looks[at], begin+at)
				}
			}
			if living := w.alive(begin + c.at); !slices.Equal(living, c.living) {
				t.Errorf("living %q, want %q", living, c.living)
			}
		})
	}
}

// After the clock goes back, a dead node is still found in time.
func TestFailureDetectorAfterAClockHasGoneBack(t *testing.T) {
	t.Parallel()
	var w failureDetector
	now := int64(3_600_000)
	watch := func(seconds int, alive ...string) []string {
		for range seconds {
			now += 1000
			w.observe(alive, now)
		}
		return w.alive(now)
	}
	if living := watch(10, "a", "dies"); len(living) != 2 {
		t.Fatalf("%q", living)
	}
	now -= 1_800_000
	if living := watch(1, "a"); living != nil {
		t.Errorf("%q are said to live, and the rest to be dead, after a moment", living)
	}
	if living := watch(10, "a"); !slices.Equal(living, []string{"a"}) {
		t.Errorf("%q live", living)
	}
	now -= 500 // clocks are not that exact
	if living := watch(1, "a"); !slices.Equal(living, []string{"a"}) {
		t.Errorf("%q live after a jitter", living)
	}
}
