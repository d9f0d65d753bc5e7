package main

import (
	"fmt"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/eventq"
	"laststand/internal/testenv"
	player "laststand/loadtest/client"
)

// A node is killed just before it reports batches. Those batches count as lost with the node
// when their leases end. All batches before and after are sent once and in order. Another node
// reports the players of the dead node as offline.
func TestOnlyBatchesOfAKilledNodeAreLost(t *testing.T) {
	t.Parallel()
	for name, redisURL := range map[string]func(t *testing.T) string{
		"single":  func(t *testing.T) string { t.Helper(); return testenv.Redis(t).URL },
		"cluster": func(t *testing.T) string { t.Helper(); return testenv.StartCluster(t, 3, 0).URL },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killedReporting(t, redisURL(t))
		})
	}
}

// checkOnlyKilledBatchesAreLost runs TestOnlyBatchesOfAKilledNodeAreLost on one Redis.
func killedReporting(t *testing.T, redisURL string) {
	t.Helper()
	settings := map[string]string{"home": fastReporting + ", report: [online, offline]"}
	for i := range 20 { // each of three nodes gets some of them
		settings[fmt.Sprint("g", i)] = fastReporting + ", report: [], hot: " + strconv.FormatBool(i%4 == 0)
	}
	r := newReportingTest(t, redisURL, settings)
	r.games = r.games[:20] // home is the last game
	first, second, victim := r.node(t), r.node(t), r.process(t)
	urls := []string{victim.url, first.url, second.url}
	defer r.watchCounts()()
	postAll := func() {
		for i, game := range r.games {
			r.post(game, 10, urls[i%3], urls[(i+1)%3], urls[(i+2)%3])
		}
	}
	postAll()
	g, err := player.CreateGuest(t.Context(), victim.url, "home", "")
	if err != nil {
		t.Fatal(err)
	}
	connect(t, victim.url, g)
	waitUntil(t, "the online behaviour is reported", func() bool { return len(r.batchesOf("home")) == 1 })
	for _, game := range r.games {
		r.checkSentOnce(game, 0)
	}

	answer := r.holdResponses()
	postAll()
	waitUntil(t, "a batch of each game is being sent", func() bool { return r.countPending() == len(r.games) })
	victim.signal(syscall.SIGKILL)
	died := time.Now().UnixMilli()
	victim.wait(t)
	waitUntil(t, "the receiver has noticed that the killed node is gone", func() bool { return r.countPending() == r.countSending(first, second) })
	answer()
	postAll()
	r.checkLost()
	r.checkLostOnce(g.ID, died)
	for _, n := range []*testNode{first, second} {
		waitUntil(t, "the metrics of a node equal the counts in Redis", func() bool { return r.sumMetric(n.opsURL) })
	}
}

// countTriesInProgress returns how many tries of these nodes have no answer yet.
func (r *reportingTest) countSending(nodes ...*testNode) (sum int) {
	r.t.Helper()
	for _, n := range nodes {
		sum += sumMetric(r.t, n.opsURL, "laststand_behaviours_batch_size_count") - sumMetric(r.t, n.opsURL, "laststand_behaviours_send_duration_seconds_count")
	}
	return sum
}

// endLeasesAndCheckLosses ends the leases of the dead node's batches. Then exactly the behaviours in
// these batches must be lost.
func (r *reportingTest) checkLost() {
	r.t.Helper()
	var lost int
	waitUntil(r.t, "only batches of the dead node are in flight", func() bool {
		var queued, inFlight int64
		lost = 0
		for _, game := range r.games {
			c := r.countsOf(game)
			queued, inFlight = queued+c.Queued, inFlight+c.InFlight
			_, unanswered := r.itemsByOutcome(game)
			lost += len(unanswered)
			if c.Dropped[eventq.NodeLost] > 0 {
				r.t.Errorf("%s: %+v before the lease ends", game, c)
			}
		}
		return r.countPending() == 0 && queued == 0 && inFlight == int64(lost)
	})
	if all := 10 * len(r.games); lost == 0 || lost == all {
		r.t.Errorf("the dead node was sending %d behaviours of %d, want some and not all", lost, all)
	}
	r.endLeases()
	for _, game := range r.games {
		r.waitUntilIdle(game)
		_, unanswered := r.itemsByOutcome(game)
		r.checkSentOnce(game, len(unanswered))
	}
}

// endLeases ends the leases of all batches in flight, which would otherwise take 20 s.
func (r *reportingTest) endLeases() {
	r.t.Helper()
	for partition := range r.admin.Partitions() {
		taken := fmt.Sprintf("{b:%d}:taken", partition)
		batches, err := r.conn.Client.ZRange(r.t.Context(), taken, 0, -1).Result()
		for _, batch := range batches {
			if err == nil {
				err = r.conn.Client.ZAddXX(r.t.Context(), taken, redis.Z{Member: batch}).Err()
			}
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
}

// checkOfflineAfterKill waits until the only session is reported as offline. The time of the offline
// behaviour must be when the session was last seen, before the kill.
func (r *reportingTest) checkLostOnce(id string, died int64) {
	r.t.Helper()
	waitUntil(r.t, "the offline behaviour is reported", func() bool { return len(r.batchesOf("home")) == 2 })
	all, _ := r.itemsByOutcome("home")
	if len(all) != 2 || all[0].Type != eventq.Online || all[1].Type != eventq.Offline || all[0].Session != all[1].Session ||
		all[0].Player != id || all[1].Player != id || all[1].At < all[0].At || all[1].At > died {
		r.t.Errorf("the node was killed at %d; reported are %+v", died, all)
	}
}

// metricsEqualCounts reports whether a node's metrics equal the sum of the counts of all games.
func (r *reportingTest) sumMetric(ops string) bool {
	r.t.Helper()
	var want eventq.Counts
	for _, game := range r.games {
		c := r.countsOf(game)
		want.Offered, want.Sent = want.Offered+c.Offered, want.Sent+c.Sent
	}
	m := func(name string) int64 { return int64(sumMetric(r.t, ops, "laststand_behaviours_"+name, `game="g`)) }
	return m("offered_total") == want.Offered && m("sent_total") == want.Sent &&
		m("offered_total") == m("sent_total")+m("dropped_total")+m("queued")+m("in_flight")
}
