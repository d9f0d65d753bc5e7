package redisstore_test

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	lb "laststand/internal/leaderboard"
	"laststand/internal/testenv"
)

// An entry that does not change while a reader pages through a board appears on exactly one
// page, in both directions.
func TestPagingShowsEachUnchangedEntryOnce(t *testing.T) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		rapid.Check(t, func(t *rapid.T) {
			cluster := newTestCluster(rdb, mixedConfig(), 1)
			defer cluster.deleteKeys(t)
			for i := range 20 {
				cluster.ledger.addPlayerResult(fmt.Sprintf("p%d", i), drawAggregates(t))
			}
			cluster.apply(t, 0)
			order := rapid.SampledFrom([]lb.Order{lb.ByValue, lb.ByScore, lb.ByMatches}).Draw(t, "order")
			window := rapid.SampledFrom([]lb.Window{lb.All, "7d"}).Draw(t, "window")
			query := lb.Query{Window: window, Order: order, Limit: rapid.IntRange(1, 5).Draw(t, "limit")}
			changed := map[string]bool{}
			forward, last := cluster.countAppearances(t, query, cluster.page(t, 0, query), changed, nextCursor)
			backward, _ := cluster.countAppearances(t, query, last, changed, prevCursor)
			for i := range 20 {
				id := fmt.Sprintf("p%d", i)
				if !changed[id] && (forward[id] != 1 || backward[id] != 1) {
					t.Fatalf("%s did not change and was seen %d times forward, %d times backward", id, forward[id], backward[id])
				}
			}
		})
	})
}

func nextCursor(page lb.Page) string { return page.NextCursor }
func prevCursor(page lb.Page) string { return page.PrevCursor }

// countAppearances reads all pages from firstPage on and counts how often each entry appears. It
// returns the last page too. Between pages, some players get results, and at most two days
// start. It adds the ids of these players to changed.
func (c *testCluster) countAppearances(t *rapid.T, query lb.Query, firstPage lb.Page, changed map[string]bool, cursorOf func(lb.Page) string) (map[string]int, lb.Page) {
	counts := map[string]int{}
	for page := firstPage; ; page = c.page(t, 0, query) {
		for _, entry := range page.Entries {
			counts[entry.ID]++
		}
		query.Cursor = cursorOf(page)
		if query.Cursor == "" {
			return counts, page
		}
		for range rapid.IntRange(0, 2).Draw(t, "results") {
			id := fmt.Sprintf("p%d", rapid.IntRange(0, 7).Draw(t, "player"))
			changed[id] = true
			c.ledger.addPlayerResult(id, drawAggregates(t))
		}
		if c.ledger.today() < daysBefore(firstDay, -2) && rapid.IntRange(0, 9).Draw(t, "day starts") == 0 {
			c.ledger.startDay()
		}
		c.apply(t, 0)
	}
}
