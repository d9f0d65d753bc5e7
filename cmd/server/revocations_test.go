package main

import (
	"net/http"
	"strings"
	"testing"

	"laststand/internal/protocol"
	player "laststand/loadtest/players"
)

// device is the device secret of a guest whom a test requests again.
const device = "kT3vJ0w9Qm2xB7sLr5Yd8Ze1"

// newDeviceGuest connects the player of a device at a node.
func newDeviceGuest(t *testing.T, url, device string) *matchClient {
	t.Helper()
	var g player.Guest
	r := postGuest(t, url, device, "")
	if status := r.decode(t, &g); status != http.StatusCreated && status != http.StatusOK {
		t.Fatalf("creating a guest: %s", r)
	}
	c := newMatchClient(t, url, g)
	c.key = newAnswerKey(t)
	return c
}

// One node bans a player, lifts the ban, revokes tokens, links the account and erases the
// player. The other node, where the player is connected, applies each change.
func TestBansAndRevocationsReachAllNodes(t *testing.T) {
	t.Parallel()
	cluster := newTestCluster(t, redisWithDocumentedKeys(t), slowDuels("demo"))
	first, second := cluster.node(t), cluster.node(t)

	banned := newDeviceGuest(t, second.url, device)
	duel := pairUp(t, banned, newDuelClient(t, first.url, "demo")).waitForMatch(t)
	first.run(t, 0, "bans", "add", "--game=demo", "--player="+banned.ID, "--reason=two accounts", "--for=1h")
	if code := readClose(t, banned.Player); code != protocol.CloseBanned {
		t.Errorf("the banned player was closed with %d", code)
	}
	var over protocol.MatchOver
	readData(t, duel[1].readUntilPush(t, protocol.TypeMatchOver), &over)
	if over.Reason != "forfeit" || over.Winner != duel[1].ID {
		t.Errorf("the match ended with %+v", over)
	}
	if status, p := requestJSON(t, "POST", second.url+"/v1/games/demo/guests", "", map[string]string{"device": device}); status != http.StatusForbidden || p["code"] != "forbidden" {
		t.Errorf("a guest request of the banned player: %d %v", status, p)
	}
	if list := first.run(t, 0, "bans", "list", "--game=demo"); !strings.Contains(list, banned.ID) || !strings.Contains(list, "two accounts") {
		t.Errorf("listed: %s", list)
	}

	first.run(t, 0, "bans", "remove", "--game=demo", "--player="+banned.ID)
	waitUntil(t, "the player is accepted again", func() bool {
		status, _ := requestJSON(t, "POST", second.url+"/v1/games/demo/guests", "", map[string]string{"device": device})
		return status == http.StatusOK
	})
	revoked := newDeviceGuest(t, second.url, device)
	first.run(t, 0, "tokens", "revoke", "--game=demo", "--subject="+revoked.ID, "--reason=a lost phone")
	if code := readClose(t, revoked.Player); code != protocol.CloseUnauthorized {
		t.Errorf("the player with revoked tokens was closed with %d", code)
	}
	if status, _ := requestJSON(t, "PUT", second.url+"/v1/games/demo/players/me/nickname", revoked.Token, map[string]string{"nickname": "Ada"}); status != http.StatusUnauthorized {
		t.Errorf("the revoked token: %d", status)
	}
	if newPlayer := newDeviceGuest(t, second.url, device); newPlayer.ID == revoked.ID {
		t.Error("the device of the player with revoked tokens got a new token")
	}
	newDevice := strings.TrimSpace(first.run(t, 0, "players", "reset-device", "--game=demo", "--player="+revoked.ID))
	waitUntil(t, "the new device belongs to the player", func() bool {
		status, newKey := requestJSON(t, "POST", second.url+"/v1/games/demo/guests", "", map[string]string{"device": newDevice})
		return status == http.StatusOK && newKey["player_id"] == revoked.ID
	})

	const secondDevice = device + "-2"
	revoked = newDeviceGuest(t, second.url, secondDevice)
	account := first.token(t, "player", "user:1")
	if status, linked := requestJSON(t, "PUT", first.url+"/v1/games/demo/players/me/account", revoked.Token, map[string]string{"token": account}); status != http.StatusOK || linked["account"] != "user:1" {
		t.Fatalf("linking the account: %d %v", status, linked)
	}
	asAccount := connect(t, second.url, player.Guest{ID: revoked.ID, Token: account})
	if asAccount.Welcome.PlayerID != revoked.ID || asAccount.Welcome.Nickname != revoked.Nickname {
		t.Errorf("welcomed %+v, not as %s", asAccount.Welcome, revoked.ID)
	}
	if code := readClose(t, revoked.Player); code != protocol.CloseReplaced {
		t.Errorf("the guest's connection was closed with %d", code)
	}

	first.run(t, 0, "players", "unlink-account", "--game=demo", "--player="+revoked.ID)
	if code := readClose(t, asAccount); code != protocol.CloseUnauthorized {
		t.Errorf("the unlinked account was closed with %d", code)
	}
	waitUntil(t, "the account is a player of its own", func() bool {
		status, p := requestJSON(t, "GET", second.url+"/v1/games/demo/players/user:1", "", nil)
		_, _ = requestJSON(t, "PUT", second.url+"/v1/games/demo/players/me/nickname", account, map[string]string{"nickname": "Solo"})
		return status == http.StatusOK && p["nickname"] == "Solo"
	})
	if status, linked := requestJSON(t, "PUT", first.url+"/v1/games/demo/players/me/account", revoked.Token, map[string]string{"token": account}); status != http.StatusOK {
		t.Fatalf("linking the account again: %d %v", status, linked)
	}
	waitUntil(t, "the account is the guest again", func() bool {
		status, p := requestJSON(t, "PUT", second.url+"/v1/games/demo/players/me/nickname", account, map[string]string{"nickname": "Duo"})
		return status == http.StatusOK && p["nickname"] == "Duo"
	})
	asAccount = connect(t, second.url, player.Guest{ID: revoked.ID, Token: account})

	if status, _ := requestJSON(t, "DELETE", first.url+"/v1/games/demo/players/me", account, nil); status != http.StatusNoContent {
		t.Fatalf("erasure: %d", status)
	}
	if code := readClose(t, asAccount); code != protocol.CloseUnauthorized {
		t.Errorf("the erased player was closed with %d", code)
	}
	for _, token := range []string{account, revoked.Token} {
		if status, _ := requestJSON(t, "PUT", second.url+"/v1/games/demo/players/me/nickname", token, map[string]string{"nickname": "Ada"}); status != http.StatusUnauthorized {
			t.Errorf("a token of the erased player: %d", status)
		}
	}
	if status, _ := requestJSON(t, "GET", second.url+"/v1/games/demo/players/"+revoked.ID, "", nil); status != http.StatusNotFound {
		t.Errorf("the profile of the erased player: %d", status)
	}
	newPlayer := newDeviceGuest(t, second.url, secondDevice)
	if newPlayer.ID == revoked.ID {
		t.Error("the device is still known")
	}

	inLobby, otherAccount := duel[1], first.token(t, "player", "user:2")
	previous := newMatchClient(t, second.url, player.Guest{ID: "user:2", Token: otherAccount})
	join := protocol.DuelJoin{BotAfterMS: ptr[int64](0)}
	if f := previous.request(t, protocol.TypeDuelJoin, join); f.Type != protocol.TypeDuelQueued {
		t.Fatalf("the account's own player: %s", f.Raw)
	}
	if status, linked := requestJSON(t, "PUT", first.url+"/v1/games/demo/players/me/account", newPlayer.Token, map[string]string{"token": otherAccount}); status != http.StatusOK {
		t.Fatalf("linking the account: %d %v", status, linked)
	}
	if code := readClose(t, previous.Player); code != protocol.CloseUnauthorized {
		t.Errorf("the account's own player was closed with %d", code)
	}
	var queued protocol.DuelQueued
	if readData(t, inLobby.request(t, protocol.TypeDuelJoin, join), &queued); queued.Waiting != 1 {
		t.Errorf("%d players wait; the linked player must not", queued.Waiting)
	}
	inLobby.request(t, protocol.TypeDuelLeave, protocol.Empty{})
	arena := createArena(t, second.url, inLobby.Token, protocol.NewArena{Mode: "survival", Name: "Cup", Questions: protocol.ArenaQuestions{Count: 3}, Pace: "auto"})
	countLobbyPlayers := func() int64 {
		var arenaState protocol.ArenaLook
		get(t, second.url+"/v1/games/demo/arenas/"+arena.Code, &arenaState)
		return arenaState.Players
	}
	if f := inLobby.request(t, protocol.TypeArenaJoin, protocol.ArenaJoin{Code: arena.Code}); f.Type != protocol.TypeArenaJoined || countLobbyPlayers() != 1 {
		t.Fatalf("joining the arena: %s", f.Raw)
	}
	first.run(t, 0, "bans", "add", "--game=demo", "--player="+inLobby.ID, "--reason=spam")
	if code := readClose(t, inLobby.Player); code != protocol.CloseBanned || countLobbyPlayers() != 0 {
		t.Errorf("closed with %d, and %d in the lobby", code, countLobbyPlayers())
	}

	similarlyNamed := newDeviceGuest(t, second.url, device+"-3")
	checkContains(t, first.run(t, 1, "players", "erase", "--game=demo", "--nickname="+strings.ToUpper(similarlyNamed.Nickname)), similarlyNamed.ID)
	first.run(t, 0, "players", "erase", "--game=demo", "--nickname="+similarlyNamed.Nickname)
	if code := readClose(t, similarlyNamed.Player); code != protocol.CloseUnauthorized {
		t.Errorf("the erased player was closed with %d", code)
	}
	checkRevoked(t, first, second)

	newKey := strings.Fields(first.run(t, 0, "keys", "rotate", "--game=demo"))[0]
	if list := first.run(t, 0, "keys", "list", "--game=demo"); !strings.Contains(list, newKey) || strings.Count(list, "true") != 1 {
		t.Errorf("keys: %s", list)
	}
	checkContains(t, first.run(t, 1, "keys", "retire", "--game=demo", "k_none"), "no such key")
	checkNoSecrets(t, first.log.String()+second.log.String(), device, account, revoked.Token)
}

// checkRevoked revokes tokens and checks another node. The node ends the poll of a service and
// refuses the token of an admin.
func checkRevoked(t *testing.T, first, second *testNode) {
	t.Helper()
	service, admin := first.token(t, "service", "mailer"), first.token(t, "admin", "ops-2")
	pollStatus := make(chan int)
	go func() {
		status, _ := requestJSON(t, "POST", second.url+"/v1/games/demo/tasks/claim", service, map[string]any{"kind": "mail", "wait_ms": 20_000})
		pollStatus <- status
	}()
	waitUntil(t, "the poll waits", func() bool { return sumMetric(t, second.opsURL, "laststand_game_tasks_polls") == 1 })
	auditLogStatus := func() int {
		status, _ := requestJSON(t, "GET", second.opsURL+"/admin/v1/audit-log", admin, nil)
		return status
	}
	if status := auditLogStatus(); status != http.StatusOK {
		t.Errorf("a request of the admin: %d", status)
	}
	first.run(t, 0, "tokens", "revoke", "--game=demo", "--subject=mailer", "--reason=a leak")
	first.run(t, 0, "tokens", "revoke", "--admins", "--subject=ops-2", "--reason=a lost laptop")
	if status := <-pollStatus; status != http.StatusUnauthorized {
		t.Errorf("the poll of the revoked service ended with %d", status)
	}
	waitUntil(t, "the admin is refused", func() bool { return auditLogStatus() == http.StatusUnauthorized })
	if list := first.run(t, 0, "tokens", "list-revoked", "--admins"); !strings.Contains(list, "ops-2") || strings.Contains(list, "mailer") {
		t.Errorf("listed: %s", list)
	}
}

// checkNoSecrets searches the log for secrets.
func checkNoSecrets(t *testing.T, logs string, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		if strings.Contains(logs, secret) {
			t.Errorf("the log has the secret %s", secret)
		}
	}
}
