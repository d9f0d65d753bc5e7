package main

import (
	"syscall"
	"testing"
	"time"

	"laststand/internal/eventq"
	"laststand/internal/testenv"
	player "laststand/loadtest/client"
)

// A node gets SIGTERM while behaviours are posted to it, players are connected, and batches
// wait for the end of a ban. The node returns the batches, and another node reports all.
func TestAStoppingNodeReturnsItsBatches(t *testing.T) {
	t.Parallel()
	const ban, players = 2, 5
	r := newReportingTest(t, testenv.Redis(t).URL, map[string]string{
		"banned": fastReporting, "busy": fastReporting, "home": fastReporting + ", report: [online, offline]",
	})
	leaving := r.process(t)
	defer r.watchCounts()()
	r.refuseGame("banned", ban)
	r.post("banned", 300, leaving.url)
	for range players {
		g, err := player.CreateGuest(t.Context(), leaving.url, "home", "")
		if err != nil {
			t.Fatal(err)
		}
		connect(t, leaving.url, g)
	}
	waitUntil(t, "a batch waits for the end of the ban", func() bool {
		return len(r.batchesOf("banned")) > 0 && r.countsOf("banned").InFlight > 0
	})

	here := r.node(t)
	leaving.signal(syscall.SIGTERM)
	ended := false
	for !ended {
		r.post("busy", 7, leaving.url, here.url)
		select {
		case <-leaving.exited:
			ended = true
		case <-time.After(5 * time.Millisecond):
		}
	}
	if code := leaving.wait(t); code != 0 {
		t.Errorf("the node ended with %d\n%s", code, leaving.log)
	}
	r.refuseGame("banned", 0)
	r.post("busy", 7, leaving.url, here.url)
	r.checkSentOnce("busy", 0)
	r.checkBanned(ban * time.Second)
	r.checkPairs(players)
}

// checkBanned checks that all behaviours of a banned game were sent in the end. They must be in
// another batch than the one that was refused first, and no try may come during a ban.
func (r *reportingTest) checkBanned(ban time.Duration) {
	r.t.Helper()
	if c := r.waitUntilIdle("banned"); c.Sent != c.Offered || c.Sent != int64(len(r.posted["banned"])) {
		r.t.Errorf("%d were posted: %+v", len(r.posted["banned"]), c)
	}
	came := map[string]int{}
	for _, m := range r.batchesOf("banned") {
		if !m.itemsByOutcome {
			continue
		}
		for _, b := range m.items {
			came[b.ID]++
		}
	}
	for _, id := range r.posted["banned"] {
		if came[id] != 1 {
			r.t.Errorf("%s arrived %d times", id, came[id])
		}
	}
	if first := r.batchesOf("banned")[0]; first.itemsByOutcome {
		r.t.Error("the batch that waited for the end of the ban was not returned")
	}
	r.checkTries(ban)
}

// checkTries checks that no try came during a known ban. The refused batch must have none.
// Other batches may already have been on their way, because two nodes may try at the same time
// when a ban ends.
func (r *reportingTest) checkTries(ban time.Duration) {
	r.t.Helper()
	const early, onItsWay = 200 * time.Millisecond, time.Second // clocks have a resolution of 1 ms, and machines are busy
	all := r.batchesOf("banned")
	for i, refused := range all {
		answers := refused.tries
		if refused.itemsByOutcome {
			answers = answers[:len(answers)-1]
		}
		for _, when := range answers {
			for j, m := range all {
				known := time.Duration(0)
				if i != j {
					known = onItsWay
				}
				for _, try := range m.tries {
					if after := try.Sub(when); after > known && after < ban-early {
						r.t.Errorf("a try came %v after the start of a ban of %v", after, ban)
					}
				}
			}
		}
	}
}

// checkOnlineOfflinePairs checks that this many players connected and disconnected, each once, in separate
// sessions.
func (r *reportingTest) checkPairs(players int) {
	r.t.Helper()
	r.waitUntilIdle("home")
	all, _ := r.itemsByOutcome("home")
	online, offline := map[string]string{}, map[string]string{}
	for _, b := range all {
		switch b.Type {
		case eventq.Online:
			online[b.Session] = b.Player
		case eventq.Offline:
			offline[b.Session] = b.Player
		}
	}
	for session, account := range online {
		if offline[session] != account {
			r.t.Errorf("the session of %s has an offline behaviour of %q", account, offline[session])
		}
	}
	if len(all) != 2*players || len(online) != players || len(offline) != players {
		r.t.Errorf("%d players connected and disconnected; reported are %+v", players, all)
	}
}
