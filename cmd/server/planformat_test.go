package main

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"laststand/internal/cli"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
	player "laststand/loadtest/players"
)

// The last node of an older release leaves a running match in a form that this release cannot
// read. Its players log in, do not count as playing, and can play again.
func TestPlayersOfAnUnreadableMatchCanPlayAgain(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	cluster := newTestCluster(t, server.URL, slowDuels("demo"))
	oldNode := startNode(t, cli.Flags{Config: cluster.config, Data: &cluster.db.Dir, Database: &cluster.db.URL, Redis: &cluster.redis, Drain: ptr("1ms")})
	oldDuel := startDuel(t, oldNode.url, oldNode.url, "demo")
	oldNode.stop()
	rewritePlans(t, server, `"form":4`, `"form":3`)

	node := cluster.node(t)
	var reconnected duelPair
	for i, c := range oldDuel {
		p, err := player.Connect(t.Context(), node.url, c.Guest, nil)
		if err != nil {
			t.Fatalf("hello: %v", err)
		}
		if p.Welcome.Playing != nil {
			t.Errorf("playing %+v", p.Welcome.Playing)
		}
		reconnected[i] = &matchClient{Player: p, id: c.id, key: c.key, answers: map[int]protocol.Answered{}, refused: map[int]protocol.Error{}, questionByRequest: map[int64]int{}}
		if f := request(t, p, protocol.TypeMatchSync, protocol.Resume{Match: oldDuel[0].match}); !strings.Contains(string(f.Raw), "not_in_match") {
			t.Errorf("match.sync: %s", f.Raw)
		}
	}
	duel := pairUp(t, reconnected[0], reconnected[1]).waitForMatch(t)
	playToEnd(t, duel[:]...)
	checkSettledOnce(t, node.url, "demo", duel[0].over)
	if sumMetric(t, node.opsURL, "laststand_match_decode_failures_total", `reason="older_form"`) == 0 {
		t.Error("the decode failure is not counted")
	}
}

// rewritePlans replaces a text in the stored plans of all matches.
func rewritePlans(t *testing.T, s *testenv.Server, old, replacement string) {
	t.Helper()
	keys, ok := redisCommand(t, s, "KEYS", "m:*:plan").([]any)
	if !ok || len(keys) == 0 {
		t.Fatal("no match is stored")
	}
	client := redisClient(t, s.URL)
	for _, key := range keys {
		plan, err := client.Get(t.Context(), key.(string)).Result()
		if err == nil {
			err = client.Set(t.Context(), key.(string), strings.Replace(plan, old, replacement, 1), redis.KeepTTL).Err()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
