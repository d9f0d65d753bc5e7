package redisboard_test

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	lb "laststand/internal/leaderboard"
	"laststand/internal/testenv"
)

// An entry that does not move while a reader pages through a board is seen once, in
// both directions.
func TestPagingSkipsAndRepeatsNoUnmovedEntry(t *testing.T) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		rapid.Check(t, func(t *rapid.T) {
			w := newTestCluster(rdb, mixedConfig(), 1)
			defer w.flush(t)
			for i := range 20 {
				w.ledger.result(fmt.Sprintf("p%d", i), drawParts(t))
			}
			w.apply(t, 0)
			order := rapid.SampledFrom([]lb.Order{lb.ByValue, lb.ByScore, lb.ByMatches}).Draw(t, "order")
			window := rapid.SampledFrom([]lb.Window{lb.All, "7d"}).Draw(t, "window")
			q := lb.Query{Window: window, Order: order, Limit: rapid.IntRange(1, 5).Draw(t, "limit")}
			moved := map[string]bool{}
			there, last := w.walk(t, q, w.page(t, 0, q), moved, next)
			back, _ := w.walk(t, q, last, moved, prev)
			for i := range 20 {
				id := fmt.Sprintf("p%d", i)
				if !moved[id] && (there[id] != 1 || back[id] != 1) {
					t.Fatalf("%s did not change and was seen %d times forward, %d times backward", id, there[id], back[id])
				}
			}
		})
	})
}

func next(p lb.Page) string { return p.NextCursor }
func prev(p lb.Page) string { return p.PrevCursor }

// walk counts how often it sees each entry, while others get results and at most two
// days begin between pages.
func (w *testCluster) walk(t *rapid.T, q lb.Query, from lb.Page, moved map[string]bool, to func(lb.Page) string) (map[string]int, lb.Page) {
	seen := map[string]int{}
	for page := from; ; page = w.page(t, 0, q) {
		for _, e := range page.Entries {
			seen[e.ID]++
		}
		q.Cursor = to(page)
		if q.Cursor == "" {
			return seen, page
		}
		for range rapid.IntRange(0, 2).Draw(t, "moves") {
			id := fmt.Sprintf("p%d", rapid.IntRange(0, 7).Draw(t, "mover"))
			moved[id] = true
			w.ledger.result(id, drawParts(t))
		}
		if w.ledger.today() < before(firstDay, -2) && rapid.IntRange(0, 9).Draw(t, "midnight") == 0 {
			w.ledger.startDay()
		}
		w.apply(t, 0)
	}
}
