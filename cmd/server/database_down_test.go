package main

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

// tooMany is how many unsettled results have new matches refused.
const tooMany = 100_000

// PostgreSQL dies in mid-duel: the duel is played to its end and its result
// waits; with too many that wait nobody may begin another match. When it is back
// the result is settled and both players are told.
func TestADatabaseThatIsDownForAWhile(t *testing.T) {
	t.Parallel()
	database, store := testenv.Postgres(t), testenv.Redis(t)
	h := house{config: configFile(t, fast), redis: store.URL, db: testenv.SQL{URL: database.URL, Dir: t.TempDir()}}
	here, there := h.node(t), h.node(t)
	idle := stranger(t, here.url, "demo")
	d := meet(t, stranger(t, here.url, "demo"), stranger(t, there.url, "demo")).begun(t)
	d.each(func(c *contestant) { c.until(t, protocol.TypeQuestion) })

	database.Kill()
	d.each(func(c *contestant) { c.reply(t, true) })
	playOn(t, d[:]...)
	eventually(t, "the result waits", func() bool { return metric(t, here.ops, "laststand_match_unsettled_results") == 1 })
	leaveWaiting(t, store.URL, true)
	eventually(t, "both nodes see how many wait", func() bool {
		return metric(t, here.ops, "laststand_match_unsettled_results") > tooMany && metric(t, there.ops, "laststand_match_unsettled_results") > tooMany
	})
	if refused := failure(t, idle.request(t, protocol.TypeDuelJoin, protocol.DuelJoin{})); refused.Code != protocol.CodeOverloaded || refused.RetryAfterMS <= 0 {
		t.Errorf("while too much waits a player gets %+v", refused)
	}

	leaveWaiting(t, store.URL, false)
	database.Restart()
	d.each(func(c *contestant) { c.until(t, protocol.TypeSettled) })
	settledOnce(t, here.url, "demo", d[0].over)
	eventually(t, "nothing waits any more", func() bool { return metric(t, there.ops, "laststand_match_unsettled_results") == 0 })
}

// leaveWaiting has things wait for the ledger that are no results, beside those
// that are, or takes them away again.
func leaveWaiting(t *testing.T, url string, there bool) {
	t.Helper()
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	defer client.Close()
	_, err = client.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for i := range tooMany {
			if name := fmt.Sprint("x", i); there {
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
