package main

import (
	"net/http"
	"syscall"
	"testing"
	"time"

	"laststand/internal/config"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

const (
	// maxLateness is the delay that the contract permits.
	maxLateness = 3 * time.Second
	// maxLatenessOnBusyMachine also allows for a busy machine.
	maxLatenessOnBusyMachine = 10 * time.Second
)

// killDuelConfigs are the duel settings of the games of TestPlayersContinueAfterTheirNodeIsKilled. Each has the time that its players
// need up to the kill, and little more.
var killDuelConfigs = map[string]config.Duel{
	"countdown": {Questions: 2, TimeLimitMS: 3000, CountdownMS: 2500, RevealMS: 300},
	"open":      {Questions: 2, TimeLimitMS: 3000, CountdownMS: 500, RevealMS: 300},
	"closing":   {Questions: 2, TimeLimitMS: 3000, CountdownMS: 500, RevealMS: 300},
	"reveal":    {Questions: 2, TimeLimitMS: 3000, CountdownMS: 500, RevealMS: 2000},
	"alone":     {Questions: 1, TimeLimitMS: 3000, CountdownMS: 500, RevealMS: 300},
}

// A node is killed in each phase of the matches that it shares with another node. Players at
// the other node get the next step in time and nothing twice. Disconnected players reconnect
// there, and every match ends and counts.
func TestPlayersContinueAfterTheirNodeIsKilled(t *testing.T) {
	t.Parallel()
	cluster := newTestCluster(t, testenv.StartCluster(t, 3, 0).URL, duelsConfig(killDuelConfigs))
	survivor := cluster.node(t)
	for phase, advance := range map[string]func(*testing.T, duelPair) step{
		"countdown": advanceToCountdown, "open": advanceToOpen, "closing": advanceToClosing, "reveal": advanceToReveal,
	} {
		t.Run(phase, func(t *testing.T) {
			t.Parallel()
			victim := cluster.process(t)
			var clients []*matchClient
			var duels []duelPair
			for range 2 {
				duel := pairUp(t, newDuelClient(t, victim.url, phase), newDuelClient(t, survivor.url, phase))
				duels, clients = append(duels, duel), append(clients, duel[:]...)
			}
			nextSteps := make([]step, len(duels))
			for i, duel := range duels {
				nextSteps[i] = advance(t, duel.waitForMatch(t))
			}
			victim.signal(syscall.SIGKILL)
			for i, duel := range duels {
				nextSteps[i].waitForStep(t, duel[1])
				duel[0].reconnect(t, survivor.url)
				duel.each(func(c *matchClient) { c.waitForSettled = true })
			}
			playToEnd(t, clients...)
			for _, duel := range duels {
				checkSamePushes(t, duel[:]...)
				checkSettledOnce(t, survivor.url, phase, duel[0].over)
			}
		})
	}
	t.Run("alone", func(t *testing.T) {
		t.Parallel()
		checkMatchWithoutPlayersEnds(t, cluster, survivor)
	})
}

// step is the push that must come next, and its due time.
type step struct {
	pushType string
	dueAt    int64 // epoch ms; the clock of Redis is this machine's
}

func (s step) waitForStep(t *testing.T, c *matchClient) {
	t.Helper()
	late := time.Duration(c.readUntilPush(t, s.pushType).ReceivedAt.UnixMilli()-s.dueAt) * time.Millisecond
	t.Logf("%s is late by %s", s.pushType, late)
	if late > maxLatenessOnBusyMachine {
		t.Errorf("%s was late by %s; the contract says %s", s.pushType, late, maxLateness)
	}
}

func advanceToCountdown(_ *testing.T, duel duelPair) step {
	return step{protocol.TypeQuestion, duel[1].found.StartsAt}
}

// advanceToOpen stops in an open question that one player has answered, and the other does not
// answer.
func advanceToOpen(t *testing.T, duel duelPair) step {
	t.Helper()
	duel.each(func(c *matchClient) { c.readUntilPush(t, protocol.TypeQuestion) })
	duel[1].submitAndRead(t, true)
	return step{protocol.TypeQuestionClosed, duel[1].asked[0].ClosesAt}
}

// advanceToClosing sends the last answer before the node dies, which may have accepted it or
// not.
func advanceToClosing(t *testing.T, duel duelPair) step {
	t.Helper()
	next := advanceToOpen(t, duel)
	duel[0].submit(t, true)
	return next
}

func advanceToReveal(t *testing.T, duel duelPair) step {
	t.Helper()
	advanceToClosing(t, duel)
	duel[0].readUntilPush(t, protocol.TypeQuestionClosed)
	closed := duel[1].readUntilPush(t, protocol.TypeQuestionClosed)
	return step{protocol.TypeQuestion, closed.ReceivedAt.UnixMilli() + killDuelConfigs["reveal"].RevealMS}
}

// checkMatchWithoutPlayersEnds kills the node to which both players of a match are connected. No
// player reconnects before the end. Another node, which did not know the match, plays it to the end.
func checkMatchWithoutPlayersEnds(t *testing.T, cluster testCluster, survivor *testNode) {
	t.Helper()
	victim := cluster.process(t)
	duel := startDuel(t, victim.url, victim.url, "alone")
	lastStep := advanceToOpen(t, duel)
	victim.signal(syscall.SIGKILL)
	var stored struct {
		OverAt int64 `json:"over_at"`
	}
	waitUntil(t, "the match is in the ledger", func() bool {
		return get(t, survivor.url+"/v1/games/alone/matches/"+duel[0].match, &stored) == http.StatusOK
	})
	late := time.Duration(stored.OverAt-lastStep.dueAt-killDuelConfigs["alone"].RevealMS) * time.Millisecond
	t.Logf("the end is late by %s", late)
	if late > 2*maxLatenessOnBusyMachine { // two steps, each late
		t.Errorf("the end was late by %s", late)
	}
	duel.each(func(c *matchClient) { c.reconnect(t, survivor.url) })
	playToEnd(t, duel[:]...)
	checkSamePushes(t, duel[:]...)
	checkSettledOnce(t, survivor.url, "alone", duel[0].over)
}
