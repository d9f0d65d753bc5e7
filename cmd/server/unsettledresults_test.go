package main

import (
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"laststand/internal/cli"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

// An account whose player's last result is not in the ledger yet cannot be linked to a guest.
// The link would delete the player, and the result would have no owner.
func TestAnAccountIsNotLinkedBeforeItsLastResultIsSettled(t *testing.T) {
	t.Parallel()
	store := testenv.Redis(t)
	cluster := newTestCluster(t, store.URL, slowDuels("demo"))
	node := cluster.node(t)
	guest := newDeviceGuest(t, node.url, device)
	account := node.token(t, "player", "user:9")
	linkAccount := func() (int, map[string]any) {
		return requestJSON(t, "PUT", node.url+"/v1/games/demo/players/me/account", guest.Token, map[string]string{"token": account})
	}
	if status, p := requestJSON(t, "PUT", node.url+"/v1/games/demo/players/me/nickname", account, map[string]string{"nickname": "Solo"}); status != http.StatusOK {
		t.Fatalf("setting the nickname of the account's own player: %d %v", status, p)
	}
	client := redisClient(t, store.URL)
	const match = "m_waits"
	hash := fnv.New32a()
	hash.Write([]byte(match))
	results := fmt.Sprintf("result:{%d}", hash.Sum32()%256)
	testenv.NoError(t, client.Set(t.Context(), "duel:{lobby:demo}:user:9", match, 0).Err())
	testenv.NoError(t, client.HSet(t.Context(), results, match, "-").Err())
	if status, p := linkAccount(); status != http.StatusServiceUnavailable || p["code"] != string(protocol.CodeUnavailable) || !strings.Contains(fmt.Sprint(p["detail"]), "settled") {
		t.Errorf("while a result waits: %d %v", status, p)
	}
	testenv.NoError(t, client.HDel(t.Context(), results, match).Err())
	if status, p := linkAccount(); status != http.StatusOK {
		t.Errorf("after the result is settled: %d %v", status, p)
	}
}

// Redis fails to release a player of a settled match. The result waits for the next sweep, which
// releases the player. Then both players are notified, and can play again.
func TestAPlayerWhoIsNotReleasedIsReleasedLater(t *testing.T) {
	t.Parallel()
	store := testenv.Redis(t)
	node := newTestCluster(t, store.URL, fastDuelsConfig).node(t)
	duel := startDuel(t, node.url, node.url, "demo")
	client := redisClient(t, store.URL)
	lastDuel := "duel:{lobby:demo}:" + duel[0].id
	testenv.NoError(t, errors.Join(client.Del(t.Context(), lastDuel).Err(), client.SAdd(t.Context(), lastDuel, "no string").Err()))
	playToEnd(t, duel[:]...)
	checkSettledOnce(t, node.url, "demo", duel[0].over)
	waitUntil(t, "the result waits", func() bool { return sumMetric(t, node.opsURL, "laststand_match_unsettled_results") == 1 })
	testenv.NoError(t, client.Del(t.Context(), lastDuel).Err())
	duel.each(func(c *matchClient) { c.readUntilPush(t, protocol.TypeSettled) })
	pairUp(t, duel[0].withoutMatch(), duel[1].withoutMatch()).waitForMatch(t)
}

// The command confirms a day at the running server, which writes it to the ledger.
func TestTheDaysCommandConfirmsADay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	node := startNode(t, cli.Flags{Data: &dir, Config: configFile(t, fastDuelsConfig)})
	checkContains(t, node.run(t, 0, "days", "confirm", "--game=demo", "--day=2026-11-22"), "demo: days up to 2026-11-22 may start")
	node.run(t, 1, "days", "confirm", "--game=nothing", "--day=2026-11-22")
	db := testenv.Need(sql.Open("sqlite", "file:"+filepath.Join(dir, "laststand.db")+"?mode=ro"))(t)
	defer db.Close()
	if days := queryColumn(t, db, `SELECT game || ' ' || day FROM confirmed_days`); len(days) != 1 || days[0] != "demo 2026-11-22" {
		t.Errorf("the confirmed days are %q", days)
	}
}
