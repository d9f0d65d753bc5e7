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
	"laststand/loadtest/player"
)

// A node is killed that is about to report batches: they are counted as lost
// with it when their leases end, and all others, before and after, come once and
// in order. Who played there is reported offline by another node.
func TestANodeThatReportsIsKilled(t *testing.T) {
	t.Parallel()
	for name, redisURL := range map[string]func(t *testing.T) string{
		"single":  func(t *testing.T) string { t.Helper(); return testenv.Redis(t).URL },
		"cluster": func(t *testing.T) string { t.Helper(); return testenv.ClusterOf(t, 3, 0).URL },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killedReporting(t, redisURL(t))
		})
	}
}

func killedReporting(t *testing.T, redisURL string) {
	t.Helper()
	settings := map[string]string{"home": swift + ", report: [online, offline]"}
	for i := range 20 { // so that each of three nodes has some of them
		settings[fmt.Sprint("g", i)] = swift + ", report: [], hot: " + strconv.FormatBool(i%4 == 0)
	}
	r := newReports(t, redisURL, settings)
	r.games = r.games[:20] // home is the last of them
	here, there, doomed := r.node(t), r.node(t), r.process(t)
	urls := []string{doomed.url, here.url, there.url}
	defer r.watched()()
	postAll := func() {
		for i, game := range r.games {
			r.post(game, 10, urls[i%3], urls[(i+1)%3], urls[(i+2)%3])
		}
	}
	postAll()
	g, err := player.NewGuest(t.Context(), doomed.url, "home", "")
	if err != nil {
		t.Fatal(err)
	}
	connect(t, doomed.url, g)
	eventually(t, "somebody is online", func() bool { return len(r.of("home")) == 1 })
	for _, game := range r.games {
		r.once(game, 0)
	}

	answer := r.shut()
	postAll()
	eventually(t, "a batch of each game is on its way", func() bool { return r.waiting() == len(r.games) })
	doomed.signal(syscall.SIGKILL)
	died := time.Now().UnixMilli()
	doomed.wait(t)
	eventually(t, "the receiver knows that the node is gone", func() bool { return r.waiting() == r.sending(here, there) })
	answer()
	postAll()
	r.checkLost()
	r.checkGone(g.ID, died)
	for _, n := range []*running{here, there} {
		eventually(t, "the metrics of a node tell the same", func() bool { return r.told(n.ops) })
	}
}

// sending is how many tries of some nodes are under way.
func (r *reports) sending(nodes ...*running) (sum int) {
	r.t.Helper()
	for _, n := range nodes {
		sum += metric(r.t, n.ops, "laststand_behaviours_batch_size_count") - metric(r.t, n.ops, "laststand_behaviours_send_duration_seconds_count")
	}
	return sum
}

// checkLost ends the leases of a dead node's batches, which wait for that.
func (r *reports) checkLost() {
	r.t.Helper()
	var lost int
	eventually(r.t, "only the dead node's are in flight", func() bool {
		var queued, flying int64
		lost = 0
		for _, game := range r.games {
			c := r.counts(game)
			queued, flying = queued+c.Queued, flying+c.InFlight
			_, unanswered := r.taken(game)
			lost += len(unanswered)
			if c.Dropped[eventq.NodeLost] > 0 {
				r.t.Errorf("%s: %+v before the lease ends", game, c)
			}
		}
		return r.waiting() == 0 && queued == 0 && flying == int64(lost)
	})
	if all := 10 * len(r.games); lost == 0 || lost == all {
		r.t.Errorf("%d behaviours of %d were on their way at the dead node", lost, all)
	}
	r.endLeases()
	for _, game := range r.games {
		r.idle(game)
		_, unanswered := r.taken(game)
		r.once(game, len(unanswered))
	}
}

// endLeases ends those of all batches in flight, which takes 20 s else.
func (r *reports) endLeases() {
	r.t.Helper()
	for partition := range r.desk.Partitions() {
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

// checkGone waits until the only visit is over, as of when it was last seen.
func (r *reports) checkGone(id string, died int64) {
	r.t.Helper()
	eventually(r.t, "it is reported that a player is gone", func() bool { return len(r.of("home")) == 2 })
	all, _ := r.taken("home")
	if len(all) != 2 || all[0].Type != eventq.Online || all[1].Type != eventq.Offline || all[0].Session != all[1].Session ||
		all[0].Player != id || all[1].Player != id || all[1].At < all[0].At || all[1].At > died {
		r.t.Errorf("somebody came and went with the node that died at %d: %+v", died, all)
	}
}

// told says whether a node's metrics add up to the counts of all games.
func (r *reports) told(ops string) bool {
	r.t.Helper()
	var want eventq.Counts
	for _, game := range r.games {
		c := r.counts(game)
		want.Offered, want.Sent = want.Offered+c.Offered, want.Sent+c.Sent
	}
	m := func(name string) int64 { return int64(metric(r.t, ops, "laststand_behaviours_"+name, `game="g`)) }
	return m("offered_total") == want.Offered && m("sent_total") == want.Sent &&
		m("offered_total") == m("sent_total")+m("dropped_total")+m("queued")+m("in_flight")
}
