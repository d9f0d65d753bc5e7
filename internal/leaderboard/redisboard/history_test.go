package redisboard_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	lb "laststand/internal/leaderboard"
	"laststand/internal/trial"
)

// drawParts draws a result small enough that sums often meet.
func drawParts(t *rapid.T) lb.Parts {
	asked := rapid.Int64Range(0, 3).Draw(t, "asked")
	answered := rapid.Int64Range(0, asked).Draw(t, "answered")
	correct := rapid.Int64Range(0, answered).Draw(t, "correct")
	limit := 1000 * asked
	return lb.Parts{
		Score: 100 * correct, Matches: 1,
		Asked: asked, Answered: answered, Correct: correct,
		LimitMS: limit, TimeMS: limit - 250*correct*rapid.Int64Range(0, 2).Draw(t, "saved"),
	}
}

func drawResult(t *rapid.T, w *world) {
	player := fmt.Sprintf("p%d", rapid.IntRange(0, 9).Draw(t, "player"))
	w.ledger.result(player, drawParts(t))
}

// Whatever happens to ledger and Redis, an Apply makes every board the sum of
// the ledger's rows.
func TestBoardsEqualTheOracleAfterAnyHistory(t *testing.T) {
	t.Parallel()
	trial.EachRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		rapid.Check(t, func(t *rapid.T) {
			cfg := mixed()
			if rapid.Bool().Draw(t, "plain weights") {
				cfg = plain()
			}
			w := newWorld(rdb, cfg, 3)
			defer w.flush(t)
			w.live(t, rapid.IntRange(5, 40).Draw(t, "events"))
			w.apply(t, 0)
			w.checkAll(t, rapid.IntRange(0, 2).Draw(t, "reader"), rapid.IntRange(1, 12).Draw(t, "limit"))
		})
	})
}

// live lets things happen to the world.
func (w *world) live(t *rapid.T, events int) {
	saved := w.snapshot(t)
	node := rapid.IntRange(0, 2)
	for range events {
		switch rapid.SampledFrom([]string{
			"result", "results", "results", "turn", "apply", "apply", "apply at once",
			"flush", "save", "restore", "roll back", "replace",
		}).Draw(t, "event") {
		case "result":
			drawResult(t, w)
		case "results":
			for range rapid.IntRange(2, 30).Draw(t, "results") {
				drawResult(t, w)
			}
		case "turn":
			for range rapid.SampledFrom([]int{1, 1, 2, 45}).Draw(t, "days") {
				w.ledger.turn()
			}
		case "apply":
			w.apply(t, node.Draw(t, "node"))
		case "apply at once":
			w.applyAtOnce(t)
		case "flush":
			w.flush(t)
		case "save":
			saved = w.snapshot(t)
		case "restore":
			w.restore(t, saved)
		case "replace":
			w.ledger.replace()
		case "roll back":
			w.ledger.rollBack(rapid.IntRange(0, len(w.ledger.all())).Draw(t, "to"))
		}
	}
}

// applyAtOnce has every node apply twice at the same time.
func (w *world) applyAtOnce(t failer) {
	var all sync.WaitGroup
	errs := make([]error, 2*len(w.nodes))
	for i := range errs {
		all.Go(func() {
			errs[i] = w.nodes[i%len(w.nodes)].applier.Apply(t.Context(), w.cfg.Game)
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			t.Fatalf("apply at once: %v", err)
		}
	}
}

// What does not move while someone pages through a board is seen once, in
// both directions.
func TestPagingSkipsAndRepeatsNothingThatStands(t *testing.T) {
	t.Parallel()
	trial.EachRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		rapid.Check(t, func(t *rapid.T) {
			w := newWorld(rdb, mixed(), 1)
			defer w.flush(t)
			for i := range 20 {
				w.ledger.result(fmt.Sprintf("p%d", i), drawParts(t))
			}
			w.apply(t, 0)
			order := rapid.SampledFrom([]lb.Order{lb.ByValue, lb.ByScore, lb.ByMatches}).Draw(t, "order")
			q := lb.Query{Window: lb.All, Order: order, Limit: rapid.IntRange(1, 5).Draw(t, "limit")}
			moved := map[string]bool{}
			there, last := w.walk(t, q, w.page(t, 0, q), moved, next)
			back, _ := w.walk(t, q, last, moved, prev)
			for i := range 20 {
				id := fmt.Sprintf("p%d", i)
				if !moved[id] && (there[id] != 1 || back[id] != 1) {
					t.Fatalf("%s stood and was seen %d times there, %d back", id, there[id], back[id])
				}
			}
		})
	})
}

func next(p lb.Page) string { return p.NextCursor }
func prev(p lb.Page) string { return p.PrevCursor }

// walk counts how often it sees whom, while others get results between pages.
func (w *world) walk(t *rapid.T, q lb.Query, from lb.Page, moved map[string]bool, to func(lb.Page) string) (map[string]int, lb.Page) {
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
		w.apply(t, 0)
	}
}
