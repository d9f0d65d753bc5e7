package main

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"laststand/internal/eventq"
	"laststand/internal/testenv"
)

// Redis forgets its scripts again and again, and then stalls, while behaviours
// are posted and reported: all of them come, once. Then it comes back empty, and
// the counts begin anew.
func TestReportingWhileRedisFails(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	r := newReports(t, server.URL, map[string]string{"a": swift, "b": swift, "c": swift + ", hot: true", "d": swift + ", hot: true"})
	here, there := r.node(t), r.node(t)
	defer r.watched()()
	post := func(rounds int) {
		for range rounds {
			for _, game := range r.games {
				r.post(game, 10, here.url, there.url)
			}
		}
	}
	for range 20 {
		tell(t, server, "SCRIPT", "FLUSH")
		post(1)
	}
	post(1) // which nobody takes before
	server.Pause()
	awake := time.AfterFunc(5*time.Second, server.Resume)
	defer awake.Stop()
	post(5)
	for _, game := range r.games {
		r.came(game)
		if c := r.idle(game); c.Sent != int64(len(r.posted[game])) {
			t.Errorf("%s: %+v; %d were posted", game, c, len(r.posted[game]))
		}
	}

	server.Kill()
	server.Restart()
	clear(r.posted)
	r.series = "again"
	post(5)
	for _, game := range r.games {
		r.came(game)
		if c := r.idle(game); c.Sent != int64(len(r.posted[game])) || c.Offered != c.Sent+c.Dropped[eventq.Duplicate] {
			t.Errorf("%s: since Redis came back %+v", game, c)
		}
	}
}

// A master of a cluster dies, and its replica takes over: all that is counted
// adds up, and what is posted from then on is reported.
func TestReportingOverAFailOver(t *testing.T) {
	t.Parallel()
	settings := map[string]string{}
	for i := range 8 { // on each of the masters
		settings[fmt.Sprint("g", i)] = swift
	}
	cluster := testenv.ClusterOf(t, 3, 1)
	r := newReports(t, cluster.URL, settings)
	here, there := r.node(t), r.node(t)
	defer r.watched()()
	post := func() {
		for _, game := range r.games {
			r.post(game, 10, here.url, there.url)
		}
	}
	post()
	cluster.Masters[0].Kill()
	post()
	clear(r.posted) // what the replica has not heard of may be lost, or come again
	r.series = "again"
	for range 3 {
		post()
	}
	for _, game := range r.games {
		r.came(game)
	}
}

// came waits until what was posted of a game has come, each once.
func (r *reports) came(game string) {
	r.t.Helper()
	came := map[string]int{}
	eventually(r.t, "what was posted of "+game+" comes", func() bool {
		clear(came)
		all, _ := r.taken(game)
		for _, b := range all {
			came[b.ID]++
		}
		return !slices.ContainsFunc(r.posted[game], func(id string) bool { return came[id] == 0 })
	})
	for _, id := range r.posted[game] {
		if came[id] != 1 {
			r.t.Errorf("%s came %d times", id, came[id])
		}
	}
}
