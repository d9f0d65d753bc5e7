package redisboard_test

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	lb "laststand/internal/leaderboard"
	"laststand/internal/testenv"
)

// drawAggregates draws a result with small numbers, so that sums are often equal.
func drawParts(t *rapid.T) lb.Aggregates {
	asked := rapid.Int64Range(0, 3).Draw(t, "asked")
	answered := rapid.Int64Range(0, asked).Draw(t, "answered")
	correct := rapid.Int64Range(0, answered).Draw(t, "correct")
	limit := 1000 * asked
	return lb.Aggregates{
		Score: 100 * correct, Matches: 1,
		Asked: asked, Answered: answered, Correct: correct,
		LimitMS: limit, TimeMS: limit - 250*correct*rapid.Int64Range(0, 2).Draw(t, "saved"),
	}
}

func drawResult(t *rapid.T, w *testCluster) {
	if rapid.IntRange(0, 4).Draw(t, "whose") == 0 {
		w.ledger.addResult(lb.Teams, fmt.Sprintf("t%d", rapid.IntRange(0, 3).Draw(t, "team")), drawParts(t))
		return
	}
	w.ledger.result(fmt.Sprintf("p%d", rapid.IntRange(0, 9).Draw(t, "player")), drawParts(t))
}

// After any events in the ledger and in Redis, Apply makes every board the sum of
// the uncorrected results.
func TestBoardsEqualTheOracleAfterAnyHistory(t *testing.T) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		rapid.Check(t, func(t *rapid.T) {
			cfg := mixedConfig()
			if rapid.Bool().Draw(t, "plain weights") {
				cfg = plainConfig()
			}
			w := newTestCluster(rdb, cfg, 3)
			defer w.flush(t)
			w.playHistory(t, rapid.IntRange(5, 40).Draw(t, "events"))
			w.apply(t, 0)
			reader, limit := rapid.IntRange(0, 2), rapid.IntRange(1, 12)
			w.checkAll(t, reader.Draw(t, "reader"), limit.Draw(t, "limit"))
			w.maintainAll(t, 1)
			w.checkAll(t, reader.Draw(t, "reader at rest"), limit.Draw(t, "limit at rest"))
		})
	})
}

// playHistory runs random events.
func (w *testCluster) playHistory(t *rapid.T, events int) {
	saved := w.snapshot(t)
	node := rapid.IntRange(0, 2)
	for range events {
		switch rapid.SampledFrom([]string{
			"result", "results", "results", "correction", "correction", "start days", "start days", "apply", "apply", "apply concurrently",
			"maintain", "kill", "flush", "save", "restore", "roll back", "replace",
		}).Draw(t, "event") {
		case "result":
			drawResult(t, w)
		case "results":
			for range rapid.IntRange(2, 30).Draw(t, "results") {
				drawResult(t, w)
			}
		case "correction":
			if rows := len(w.ledger.allRows()); rows > 0 {
				w.ledger.correct(rapid.Int64Range(1, int64(rows)).Draw(t, "wrong"))
			}
		case "start days":
			for range rapid.SampledFrom([]int{1, 1, 1, 2, 6, 7, 45}).Draw(t, "days") {
				w.ledger.startDay()
			}
		case "apply":
			w.apply(t, node.Draw(t, "node"))
		case "apply concurrently":
			w.applyAtOnce(t)
		case "maintain":
			w.maintainAll(t, node.Draw(t, "node"))
		case "kill":
			w.applyWithCrash(t, rapid.Int64Range(0, 4).Draw(t, "commits"), rapid.Bool().Draw(t, "written"))
		case "flush":
			w.flush(t)
		case "save":
			saved = w.snapshot(t)
		case "restore":
			w.restore(t, saved)
		case "replace":
			w.ledger.replaceLedger()
		case "roll back":
			w.ledger.rollBack(rapid.IntRange(0, len(w.ledger.allRows())).Draw(t, "to"))
		}
	}
}
