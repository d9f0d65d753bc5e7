package main

import (
	"syscall"
	"testing"
	"time"

	"laststand/internal/eventq"
	"laststand/internal/testenv"
	player "laststand/loadtest/players"
)

// A node gets SIGTERM while behaviours are posted to it, players are connected, and batches
// wait for the end of a ban. Another node reports all.
func TestAStoppingNodeReturnsItsBatches(t *testing.T) {
	t.Parallel()
	const banSeconds, players = 2, 5
	r := newReportingTest(t, testenv.Redis(t).URL, map[string]string{
		"banned": fastReporting, "busy": fastReporting, "home": fastReporting + ", report: [online, offline]",
	})
	leaving := r.process(t)
	defer r.watchCounts()()
	r.refuseGame("banned", banSeconds)
	r.post("banned", 300, leaving.url)
	for range players {
		g := testenv.Need(player.CreateGuest(t.Context(), leaving.url, "home", ""))(t)
		connect(t, leaving.url, g)
	}
	waitUntil(t, "a refused batch waits in the queue for the end of the ban", func() bool {
		return len(r.gameBatches("banned")) > 0 && r.gameCounts("banned").InFlight == 0
	})

	staying := r.node(t)
	leaving.signal(syscall.SIGTERM)
	ended := false
	for !ended {
		r.post("busy", 7, leaving.url, staying.url)
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
	r.post("busy", 7, leaving.url, staying.url)
	r.checkSentOnce("busy", 0)
	r.checkBanned(banSeconds * time.Second)
	r.checkOnlineOfflinePairs(players)
}

// checkBanned checks that all behaviours of a banned game were sent in the end. The message that
// was refused first must keep its id, and no try may come during a ban.
func (r *reportingTest) checkBanned(ban time.Duration) {
	r.t.Helper()
	if c := r.waitUntilIdle("banned"); c.Sent != c.Offered || c.Sent != int64(len(r.posted["banned"])) {
		r.t.Errorf("%d were posted: %+v", len(r.posted["banned"]), c)
	}
	arrivedItems := map[string]int{}
	for _, batch := range r.gameBatches("banned") {
		if !batch.isAccepted {
			continue
		}
		for _, b := range batch.items {
			arrivedItems[b.ID]++
		}
	}
	for _, id := range r.posted["banned"] {
		if arrivedItems[id] != 1 {
			r.t.Errorf("%s arrived %d times", id, arrivedItems[id])
		}
	}
	if first := r.gameBatches("banned")[0]; !first.isAccepted {
		r.t.Error("the message that was refused first was not sent again under its id")
	}
	r.checkTries(ban)
}

// checkTries checks that no try came during a known ban. The refused batch must have none.
// Other batches may already have been on their way, because two nodes may try at the same time
// when a ban ends.
func (r *reportingTest) checkTries(ban time.Duration) {
	r.t.Helper()
	const clockTolerance, startedBeforeBan = 200 * time.Millisecond, time.Second // clocks have a resolution of 1 ms, and machines are busy
	all := r.gameBatches("banned")
	for i, refused := range all {
		refusedTries := refused.tries
		if refused.isAccepted {
			refusedTries = refusedTries[:len(refusedTries)-1]
		}
		for _, refusedAt := range refusedTries {
			for j, batch := range all {
				ignored := time.Duration(0)
				if i != j {
					ignored = startedBeforeBan
				}
				for _, try := range batch.tries {
					if after := try.Sub(refusedAt); after > ignored && after < ban-clockTolerance {
						r.t.Errorf("a try came %v after the start of a ban of %v", after, ban)
					}
				}
			}
		}
	}
}

// checkOnlineOfflinePairs checks that this many players connected and disconnected, each once, in separate
// sessions.
func (r *reportingTest) checkOnlineOfflinePairs(players int) {
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
	for session, player := range online {
		if offline[session] != player {
			r.t.Errorf("the session of %s has an offline behaviour of %q", player, offline[session])
		}
	}
	if len(all) != 2*players || len(online) != players || len(offline) != players {
		r.t.Errorf("%d players connected and disconnected; reported are %+v", players, all)
	}
}
