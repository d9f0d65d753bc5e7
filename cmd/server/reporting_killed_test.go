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
	player "laststand/loadtest/players"
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
			checkOnlyKilledBatchesAreLost(t, redisURL(t))
		})
	}
}

// checkOnlyKilledBatchesAreLost runs TestOnlyBatchesOfAKilledNodeAreLost on one Redis.
func checkOnlyKilledBatchesAreLost(t *testing.T, redisURL string) {
	t.Helper()
	settings := map[string]string{"home": fastReporting + ", report: [online, offline]"}
	for i := range 20 { // each of three nodes gets some of them
		settings[fmt.Sprint("g", i)] = fastReporting + ", report: [], hot: " + strconv.FormatBool(i%4 == 0)
	}
	test := newReportingTest(t, redisURL, settings)
	test.games = test.games[:20] // home is the last game
	first, second, victim := test.node(t), test.node(t), test.process(t)
	urls := []string{victim.url, first.url, second.url}
	defer test.watchCounts()()
	postAll := func() {
		for i, game := range test.games {
			test.post(game, 10, urls[i%3], urls[(i+1)%3], urls[(i+2)%3])
		}
	}
	postAll()
	guest := testenv.Need(player.CreateGuest(t.Context(), victim.url, "home", ""))(t)
	connect(t, victim.url, guest)
	waitUntil(t, "the online behaviour is reported", func() bool { return len(test.gameBatches("home")) == 1 })
	for _, game := range test.games {
		test.checkSentOnce(game, 0)
	}

	answerAll := test.holdResponses()
	postAll()
	waitUntil(t, "a batch of each game is being sent", func() bool { return test.countPending() == len(test.games) })
	victim.signal(syscall.SIGKILL)
	killedAt := time.Now().UnixMilli()
	victim.wait(t)
	waitUntil(t, "the receiver has noticed that the killed node is gone", func() bool { return test.countPending() == test.countTriesInProgress(first, second) })
	answerAll()
	postAll()
	test.endLeasesAndCheckLosses()
	test.checkOfflineAfterKill(guest.ID, killedAt)
	for _, node := range []*testNode{first, second} {
		waitUntil(t, "the metrics of a node equal the counts in Redis", func() bool { return test.metricsEqualCounts(node.opsURL) })
	}
}

// countTriesInProgress returns how many tries of these nodes have no answer yet.
func (r *reportingTest) countTriesInProgress(nodes ...*testNode) (sum int) {
	r.t.Helper()
	for _, node := range nodes {
		sum += sumMetric(r.t, node.opsURL, "laststand_behaviours_batch_size_count") - sumMetric(r.t, node.opsURL, "laststand_behaviours_send_duration_seconds_count")
	}
	return sum
}

// endLeasesAndCheckLosses ends the leases of the dead node's batches. Then exactly the behaviours in
// these batches must be lost.
func (r *reportingTest) endLeasesAndCheckLosses() {
	r.t.Helper()
	var lost int
	waitUntil(r.t, "only batches of the dead node are in flight", func() bool {
		var queued, inFlight int64
		lost = 0
		for _, game := range r.games {
			counts := r.gameCounts(game)
			queued, inFlight = queued+counts.Queued, inFlight+counts.InFlight
			_, unanswered := r.itemsByOutcome(game)
			lost += len(unanswered)
			if counts.Dropped[eventq.NodeLost] > 0 {
				r.t.Errorf("%s: %+v before the lease ends", game, counts)
			}
		}
		return r.countPending() == 0 && queued == 0 && inFlight == int64(lost)
	})
	if total := 10 * len(r.games); lost == 0 || lost == total {
		r.t.Errorf("the dead node was sending %d behaviours of %d, want some and not all", lost, total)
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
	for _, game := range r.games {
		partition := fmt.Sprintf("{b:%d}:", r.admin.Partition(game))
		leasesKey := partition + "taken:" + game
		batches, err := r.conn.Client.ZRange(r.t.Context(), leasesKey, 0, -1).Result()
		for _, batch := range batches {
			if err == nil {
				err = r.conn.Client.ZAddXX(r.t.Context(), leasesKey, redis.Z{Member: batch}).Err()
			}
		}
		if err == nil {
			err = r.conn.Client.ZAddXX(r.t.Context(), partition+"due", redis.Z{Member: game}).Err()
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
}

// checkOfflineAfterKill waits until the only session is reported as offline. The time of the offline
// behaviour must be when the session was last seen, before the kill.
func (r *reportingTest) checkOfflineAfterKill(player string, killedAt int64) {
	r.t.Helper()
	waitUntil(r.t, "the offline behaviour is reported", func() bool { return len(r.gameBatches("home")) == 2 })
	behaviours, _ := r.itemsByOutcome("home")
	if len(behaviours) != 2 || behaviours[0].Type != eventq.Online || behaviours[1].Type != eventq.Offline || behaviours[0].Session != behaviours[1].Session ||
		behaviours[0].Player != player || behaviours[1].Player != player || behaviours[1].At < behaviours[0].At || behaviours[1].At > killedAt {
		r.t.Errorf("the node was killed at %d; reported are %+v", killedAt, behaviours)
	}
}

// metricsEqualCounts reports whether a node's metrics equal the sum of the counts of all games.
func (r *reportingTest) metricsEqualCounts(opsURL string) bool {
	r.t.Helper()
	var want eventq.Counts
	for _, game := range r.games {
		counts := r.gameCounts(game)
		want.Offered, want.Sent = want.Offered+counts.Offered, want.Sent+counts.Sent
	}
	metric := func(name string) int64 { return int64(sumMetric(r.t, opsURL, "laststand_behaviours_"+name, `game="g`)) }
	return metric("offered_total") == want.Offered && metric("sent_total") == want.Sent &&
		metric("offered_total") == metric("sent_total")+metric("dropped_total")+metric("queued")+metric("in_flight")
}
