package main

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"laststand/internal/eventq"
	"laststand/internal/testenv"
)

// Redis loses its scripts many times, and then stalls, while behaviours are posted and
// reported. All of them are sent, once. Then Redis comes back empty, and the counts start again
// at 0.
func TestBehavioursAreSentOnceWhileRedisFails(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	r := newReportingTest(t, server.URL, map[string]string{"a": fastReporting, "b": fastReporting, "c": fastReporting + ", hot: true", "d": fastReporting + ", hot: true"})
	first, second := r.node(t), r.node(t)
	defer r.watchCounts()()
	post := func(rounds int) {
		for range rounds {
			for _, game := range r.games {
				r.post(game, 10, first.url, second.url)
			}
		}
	}
	for range 20 {
		redisCommand(t, server, "SCRIPT", "FLUSH")
		post(1)
	}
	post(1) // these behaviours may wait until Redis continues
	server.Pause()
	resume := time.AfterFunc(5*time.Second, server.Resume)
	defer resume.Stop()
	post(5)
	for _, game := range r.games {
		r.checkArrived(game)
		if c := r.waitUntilIdle(game); c.Sent != int64(len(r.posted[game])) {
			t.Errorf("%s: %+v; %d were posted", game, c, len(r.posted[game]))
		}
	}

	server.Kill()
	server.Restart()
	clear(r.posted)
	r.idSeries = "again"
	post(5)
	for _, game := range r.games {
		r.checkArrived(game)
		if c := r.waitUntilIdle(game); c.Sent != int64(len(r.posted[game])) || c.Offered != c.Sent+c.Dropped[eventq.Duplicate] {
			t.Errorf("%s: after Redis came back empty: %+v", game, c)
		}
	}
}

// A master of a cluster dies, and its replica takes over. All counts still add up, and the
// nodes report all later posts.
func TestReportingContinuesAfterARedisFailover(t *testing.T) {
	t.Parallel()
	settings := map[string]string{}
	for i := range 8 { // some on each of the masters
		settings[fmt.Sprint("g", i)] = fastReporting
	}
	cluster := testenv.StartCluster(t, 3, 1)
	r := newReportingTest(t, cluster.URL, settings)
	first, second := r.node(t), r.node(t)
	defer r.watchCounts()()
	post := func() {
		for _, game := range r.games {
			r.post(game, 10, first.url, second.url)
		}
	}
	post()
	cluster.Masters[0].Kill()
	post()
	clear(r.posted) // behaviours that the replica does not have may be lost or sent again
	r.idSeries = "again"
	for range 3 {
		post()
	}
	for _, game := range r.games {
		r.checkArrived(game)
	}
}

// checkArrived waits until the receiver got all posted behaviours of a game, each once.
func (r *reportingTest) checkArrived(game string) {
	r.t.Helper()
	arrivedItems := map[string]int{}
	waitUntil(r.t, "all posted behaviours of "+game+" arrive", func() bool {
		clear(arrivedItems)
		all, _ := r.itemsByOutcome(game)
		for _, item := range all {
			arrivedItems[item.ID]++
		}
		return !slices.ContainsFunc(r.posted[game], func(id string) bool { return arrivedItems[id] == 0 })
	})
	for _, id := range r.posted[game] {
		if arrivedItems[id] != 1 {
			r.t.Errorf("%s arrived %d times", id, arrivedItems[id])
		}
	}
}
