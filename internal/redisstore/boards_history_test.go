package redisstore_test

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	lb "laststand/internal/leaderboard"
	"laststand/internal/testenv"
)

// drawAggregates draws a result with small numbers, so that sums are often equal.
func drawAggregates(t *rapid.T) lb.Aggregates {
	asked := rapid.Int64Range(0, 3).Draw(t, "asked")
	answered := rapid.Int64Range(0, asked).Draw(t, "answered")
	correct := rapid.Int64Range(0, answered).Draw(t, "correct")
	limit := 1000 * asked
	return lb.Aggregates{
		Score: 100 * correct, Matches: 1,
		Asked: asked, Answered: answered, Correct: correct,
		LimitMS: limit, TimeMS: limit - 250*correct*rapid.Int64Range(0, 2).Draw(t, "saved time"),
	}
}

func drawResult(t *rapid.T, cluster *testCluster) {
	if rapid.IntRange(0, 4).Draw(t, "kind") == 0 {
		cluster.ledger.addResult(lb.Teams, fmt.Sprintf("t%d", rapid.IntRange(0, 3).Draw(t, "team")), drawAggregates(t))
		return
	}
	cluster.ledger.addPlayerResult(fmt.Sprintf("p%d", rapid.IntRange(0, 9).Draw(t, "player")), drawAggregates(t))
}

// After any events in the ledger and in Redis, and a call of Apply, every board has the sums
// of the uncorrected results.
func TestBoardsEqualTheOracleAfterAnyHistory(t *testing.T) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		rapid.Check(t, func(t *rapid.T) {
			cfg := mixedConfig()
			if rapid.Bool().Draw(t, "plain weights") {
				cfg = plainConfig()
			}
			cluster := newTestCluster(rdb, cfg, 3)
			defer cluster.deleteKeys(t)
			cluster.playHistory(t, rapid.IntRange(5, 40).Draw(t, "events"))
			cluster.apply(t, 0)
			readerGenerator, limitGenerator := rapid.IntRange(0, 2), rapid.IntRange(1, 12)
			cluster.checkAll(t, readerGenerator.Draw(t, "reader"), limitGenerator.Draw(t, "limit"))
			cluster.maintainAll(t, 1)
			cluster.checkAll(t, readerGenerator.Draw(t, "reader after maintenance"), limitGenerator.Draw(t, "limit after maintenance"))
		})
	})
}

// playHistory runs random events.
func (c *testCluster) playHistory(t *rapid.T, events int) {
	saved := c.snapshot(t)
	nodeGenerator := rapid.IntRange(0, 2)
	for range events {
		switch rapid.SampledFrom([]string{
			"result", "results", "results", "correction", "correction", "start days", "start days", "apply", "apply", "apply concurrently",
			"maintain", "kill", "flush", "save", "restore", "roll back", "replace",
		}).Draw(t, "event") {
		case "result":
			drawResult(t, c)
		case "results":
			for range rapid.IntRange(2, 30).Draw(t, "results") {
				drawResult(t, c)
			}
		case "correction":
			if rows := len(c.ledger.allRows()); rows > 0 {
				c.ledger.correct(rapid.Int64Range(1, int64(rows)).Draw(t, "position"))
			}
		case "start days":
			for range rapid.SampledFrom([]int{1, 1, 1, 2, 6, 7, 45}).Draw(t, "days") {
				c.ledger.startDay()
			}
		case "apply":
			c.apply(t, nodeGenerator.Draw(t, "node"))
		case "apply concurrently":
			c.applyConcurrently(t)
		case "maintain":
			c.maintainAll(t, nodeGenerator.Draw(t, "node"))
		case "kill":
			c.applyWithCrash(t, rapid.Int64Range(0, 4).Draw(t, "commits"), rapid.Bool().Draw(t, "writes last commit"))
		case "flush":
			c.deleteKeys(t)
		case "save":
			saved = c.snapshot(t)
		case "restore":
			c.restore(t, saved)
		case "replace":
			c.ledger.replaceLedger()
		case "roll back":
			c.ledger.rollBack(rapid.IntRange(0, len(c.ledger.allRows())).Draw(t, "rows left"))
		}
	}
}
