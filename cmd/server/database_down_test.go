package main

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

// maxPendingResults is the number of unsettled results at which the server refuses new matches.
const maxPending = 100_000

// PostgreSQL fails during a duel. The players finish the duel, and its result waits. While too
// many results wait, no player may start another match. When PostgreSQL is back, the server
// settles the result and notifies both players.
func TestResultsWaitWhileTheDatabaseIsDown(t *testing.T) {
	t.Parallel()
	database, store := testenv.Postgres(t), testenv.Redis(t)
	h := testCluster{config: configFile(t, fastDuels), redis: store.URL, db: testenv.SQL{URL: database.URL, Dir: t.TempDir()}}
	first, isPresent := h.node(t), h.node(t)
	idle := newDuelClient(t, first.url, "demo")
	d := pairUp(t, newDuelClient(t, first.url, "demo"), newDuelClient(t, isPresent.url, "demo")).waitForMatch(t)
	d.each(func(c *matchClient) { c.readUntilPush(t, protocol.TypeQuestion) })

	database.Kill()
	d.each(func(c *matchClient) { c.submitAndRead(t, true) })
	playToEnd(t, d[:]...)
	waitUntil(t, "the result waits", func() bool { return sumMetric(t, first.opsURL, "laststand_match_unsettled_results") == 1 })
	setPendingTasks(t, store.URL, true)
	waitUntil(t, "both nodes see how many wait", func() bool {
		return sumMetric(t, first.opsURL, "laststand_match_unsettled_results") > maxPending && sumMetric(t, isPresent.opsURL, "laststand_match_unsettled_results") > maxPending
	})
	if refused := decodeError(t, idle.request(t, protocol.TypeDuelJoin, protocol.DuelJoin{})); refused.Code != protocol.CodeOverloaded || refused.RetryAfterMS <= 0 {
		t.Errorf("while too many results wait, a request for a duel gets %+v", refused)
	}

	setPendingTasks(t, store.URL, false)
	database.Restart()
	d.each(func(c *matchClient) { c.readUntilPush(t, protocol.TypeSettled) })
	checkSettledOnce(t, first.url, "demo", d[0].over)
	waitUntil(t, "no result waits any more", func() bool { return sumMetric(t, isPresent.opsURL, "laststand_match_unsettled_results") == 0 })
}

// setPendingResults adds maxPendingResults invalid entries to the Redis hash of results that wait for
// the ledger, or removes them.
func setPendingTasks(t *testing.T, url string, isPresent bool) {
	t.Helper()
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	defer client.Close()
	_, err = client.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for i := range maxPending {
			if name := fmt.Sprint("x", i); isPresent {
				p.HSet(t.Context(), "result:{255}", name, "-")
			} else {
				p.HDel(t.Context(), "result:{255}", name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
