package main

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"laststand/internal/cli"
	"laststand/internal/testenv"
)

// While the server runs, commands compare leaderboards with the ledger and build new ones while
// clients read the old ones. A correction repairs them.
func TestLeaderboardCommandsFindAndRepairDifferences(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		cache := redisWithDocumentedKeys(t)
		node := startNode(t, cli.Flags{Config: configFile(t, fastDuelsConfig), Data: &db.Dir, Database: &db.URL, Redis: &cache})
		run := func(wantCode int, wantOutput string, args ...string) {
			t.Helper()
			checkContains(t, node.run(t, wantCode, append(args, "--game=demo")...), wantOutput)
		}
		players := playDuels(t, node.url, 3)
		checkStoredResults(t, node.url, players)
		run(0, ": 0 differences", "boards", "verify")

		loser := players[0].id
		corruptEntry(t, cache, loser)
		run(1, "player all "+loser+": entry: ledger newest ", "boards", "verify")
		run(0, "new leaderboards are served", "boards", "rebuild", "--wait")
		run(0, ": 0 differences", "boards", "verify")
		checkStoredResults(t, node.url, players)

		match := players[0].match
		run(0, match+": 2 rows", "boards", "disqualify", "--match="+match, "--reason=two accounts")
		run(0, match+": 0 rows", "boards", "disqualify", "--match="+match, "--reason=again")
		for _, window := range []string{"all", "day", "7d", "30d"} {
			if status := get(t, node.url+"/v1/games/demo/leaderboards/"+window+"/"+loser, nil); status != http.StatusNotFound {
				t.Errorf("the disqualified player is still on the leaderboard %s: status %d", window, status)
			}
		}
		if p := getProfile(t, node.url, "demo", loser); p != (playerProfile{}) {
			t.Errorf("the profile of the disqualified player has %+v", p)
		}
		run(0, ": 0 differences", "boards", "verify")
	})
}

// corruptEntry changes a player's entry on the all-time leaderboard directly in Redis.
func corruptEntry(t *testing.T, url, player string) {
	t.Helper()
	rdb := redisClient(t, url)
	corrupted := 0
	keys := rdb.Scan(t.Context(), 0, "{b:demo}:*:player:all:parts", 1000).Iterator()
	for keys.Next(t.Context()) {
		corrupted += addPoint(t, rdb, keys.Val(), player)
	}
	if keys.Err() != nil || corrupted != 1 {
		t.Fatalf("%d entries were changed, want 1: %v", corrupted, keys.Err())
	}
}

// addPoint adds a point to an entry's score, if the leaderboard has it.
func addPoint(t *testing.T, rdb *redis.Client, key, player string) int {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	packed, err := rdb.HGet(ctx, key, player).Result()
	if err != nil {
		return 0
	}
	fields := strings.Fields(packed)
	fields[1] += "1"
	testenv.NoError(t, rdb.HSet(ctx, key, player, strings.Join(fields, " ")).Err())
	return 1
}
