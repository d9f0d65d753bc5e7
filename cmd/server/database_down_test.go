package main

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

// maxPendingResults is the number of unsettled results at which the server refuses new matches.
const maxPendingResults = 100_000

// PostgreSQL fails during a duel. The players finish the duel, and its result waits. While too
// many results wait, no player may start another match. When PostgreSQL is back, the server
// settles the result and notifies both players.
func TestResultsWaitWhileTheDatabaseIsDown(t *testing.T) {
	t.Parallel()
	database, store := testenv.Postgres(t), testenv.Redis(t)
	cluster := testCluster{config: configFile(t, fastDuelsConfig), redis: store.URL, db: testenv.SQL{URL: database.URL, Dir: t.TempDir()}}
	first, second := cluster.node(t), cluster.node(t)
	idle := newDuelClient(t, first.url, "demo")
	duel := startDuel(t, first.url, second.url, "demo")
	duel.each(func(c *matchClient) { c.readUntilPush(t, protocol.TypeQuestion) })

	database.Kill()
	duel.each(func(c *matchClient) { c.submitAndRead(t, true) })
	playToEnd(t, duel[:]...)
	waitUntil(t, "the result waits", func() bool { return sumMetric(t, first.opsURL, "laststand_match_unsettled_results") == 1 })
	setPendingResults(t, store.URL, true)
	waitUntil(t, "both nodes see how many wait", func() bool {
		return sumMetric(t, first.opsURL, "laststand_match_unsettled_results") > maxPendingResults && sumMetric(t, second.opsURL, "laststand_match_unsettled_results") > maxPendingResults
	})
	if refused := decodeError(t, idle.request(t, protocol.TypeDuelJoin, protocol.DuelJoin{})); refused.Code != protocol.CodeOverloaded || refused.RetryAfterMS <= 0 {
		t.Errorf("while too many results wait, a request for a duel gets %+v", refused)
	}

	setPendingResults(t, store.URL, false)
	database.Restart()
	duel.each(func(c *matchClient) { c.readUntilPush(t, protocol.TypeSettled) })
	checkSettledOnce(t, first.url, "demo", duel[0].over)
	waitUntil(t, "no result waits any more", func() bool { return sumMetric(t, second.opsURL, "laststand_match_unsettled_results") == 0 })
}

// setPendingResults adds maxPendingResults invalid entries to the Redis hash of results that wait for
// the ledger, or removes them.
func setPendingResults(t *testing.T, url string, present bool) {
	t.Helper()
	_, err := redisClient(t, url).Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for i := range maxPendingResults {
			if name := fmt.Sprint("x", i); present {
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
