package main

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	player "laststand/loadtest/client"
)

// The last node of an older release leaves a running match in a form that this release cannot
// read. Its players log in, do not count as playing, and can play again.
func TestPlayersOfAnUnreadableMatchCanPlayAgain(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	h := newTestCluster(t, server.URL, slowDuels("demo"))
	before := startNode(t, cli{Config: h.config, Data: &h.db.Dir, Database: &h.db.URL, Redis: &h.redis, Drain: ptr("1ms")})
	left := pairUp(t, newDuelClient(t, before.url, "demo"), newDuelClient(t, before.url, "demo")).waitForMatch(t)
	before.stop()
	rewritePlans(t, server, `"form":3`, `"form":2`)

	node := h.node(t)
	var again duelPair
	for i, c := range left {
		p, err := player.Connect(t.Context(), node.url, c.Guest, nil)
		if err != nil {
			t.Fatalf("hello: %v", err)
		}
		if p.Welcome.Playing != nil {
			t.Errorf("playing %+v", p.Welcome.Playing)
		}
		again[i] = &matchClient{Player: p, id: c.id, key: c.key, answers: map[int]protocol.Answered{}, refused: map[int]protocol.Error{}, sent: map[int64]int{}}
		if f := request(t, p, protocol.TypeMatchSync, protocol.Resume{Match: left[0].match}); !strings.Contains(string(f.Raw), "not_in_match") {
			t.Errorf("match.sync: %s", f.Raw)
		}
	}
	d := pairUp(t, again[0], again[1]).waitForMatch(t)
	playToEnd(t, d[:]...)
	checkSettledOnce(t, node.url, "demo", d[0].over)
	if sumMetric(t, node.opsURL, "laststand_match_decode_failures_total", `reason="older_form"`) == 0 {
		t.Error("the decode failure is not counted")
	}
}

// rewritePlans replaces a text in the stored plans of all matches.
func rewritePlans(t *testing.T, s *testenv.Server, old, with string) {
	t.Helper()
	keys, ok := redisCommand(t, s, "KEYS", "m:*:plan").([]any)
	if !ok || len(keys) == 0 {
		t.Fatal("no match is stored")
	}
	c := redis.NewClient(&redis.Options{Addr: s.Addr})
	defer c.Close()
	for _, key := range keys {
		plan, err := c.Get(t.Context(), key.(string)).Result()
		if err == nil {
			err = c.Set(t.Context(), key.(string), strings.Replace(plan, old, with, 1), redis.KeepTTL).Err()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
