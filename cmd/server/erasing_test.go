package main

import (
	"database/sql"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/ledger"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
	player "laststand/loadtest/players"
)

// personalData are the values that identify the players who are erased in a test. No store may
// hold one of them afterwards.
var personalData = []string{"jane.doe.1984", "Zaphodian", "zaphodian", "Trilliana", "trilliana", device}

const fastErasingConfig = `
games:
  demo:
    duel: {questions: 4, time_limit_ms: 60000, countdown_ms: 50, reveal_ms: 50, bot_after_ms: 0}
    arena: {time_limit_ms: 60000, countdown_ms: 300, reveal_ms: 300, team_lockout_ms: 0}
limits: {messages_per_second: 1000, guests_per_minute_per_address: 0}
`

// A guest and a player with an operator's token play duels and an arena, and are erased, one
// during a duel. Then the test searches every table, every file of the data folder and every
// key of Redis for their names, device and subject. Only keys of a match still have them, and
// those expire.
func TestNoStoreHasDataOfErasedPlayers(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		server := testenv.Redis(t)
		cluster := testCluster{config: configFile(t, fastErasingConfig), redis: server.URL, db: db}
		if db.Dir == "" {
			cluster.db.Dir = t.TempDir()
		}
		node := cluster.node(t)
		token := node.token(t, "player", personalData[0])
		jane := newMatchClient(t, node.url, player.Guest{ID: personalData[0], Token: token})
		jane.key = newAnswerKey(t)
		setNickname := func(token, name string) {
			t.Helper()
			if status, p := requestJSON(t, "PUT", node.url+"/v1/games/demo/players/me/nickname", token, map[string]string{"nickname": name}); status != http.StatusOK {
				t.Fatalf("the name %s: %d %v", name, status, p)
			}
		}
		setNickname(token, "Zaphodian")
		guest := newDeviceGuest(t, node.url, device)
		setNickname(guest.Token, "Trilliana")
		other := newDuelClient(t, node.url, "demo")

		settledDuel := pairUp(t, jane, guest).waitForMatch(t)
		playToEnd(t, settledDuel[:]...)
		waitUntil(t, "the duel is settled", func() bool { return getProfile(t, node.url, "demo", guest.id).Matches == 1 })
		forfeitedDuel := pairUp(t, reconnectPlayer(t, node.url, jane), reconnectPlayer(t, node.url, guest)).waitForMatch(t)
		forfeitedDuel[1].request(t, protocol.TypeMatchLeave, protocol.MatchLeave{Match: forfeitedDuel[1].match})
		forfeitedDuel[0].readUntilPush(t, protocol.TypeMatchOver) // the duel is not stored
		playArena(t, node.url, node.token(t, "host", "quizmaster"), jane, guest, other)
		waitUntil(t, "the arena is settled", func() bool { return getProfile(t, node.url, "demo", other.id).Matches == 1 })
		finalDuel := pairUp(t, reconnectPlayer(t, node.url, jane), reconnectPlayer(t, node.url, other)).waitForMatch(t)
		for _, c := range finalDuel {
			c.readUntilPush(t, protocol.TypeQuestion)
			c.submitAndRead(t, true)
		}
		finalDuel[1].readUntilPush(t, protocol.TypeQuestionClosed) // otherwise the duel is not stored
		for _, token := range []string{token, guest.Token} {
			if status, _ := requestJSON(t, "DELETE", node.url+"/v1/games/demo/players/me", token, nil); status != http.StatusNoContent {
				t.Fatalf("erasure: %d", status)
			}
		}
		if status, p := requestJSON(t, "POST", node.url+"/v1/games/demo/arenas", node.token(t, "host", personalData[0]), quickArena); status != http.StatusUnauthorized {
			t.Errorf("an arena of an erased host: %d %v", status, p)
		}
		finalDuel[1].readUntilPush(t, protocol.TypeMatchOver)
		waitUntil(t, "the last duel is settled", func() bool { return getProfile(t, node.url, "demo", other.id).Matches == 2 })
		if lastDuel := redisClient(t, cluster.redis).Get(t.Context(), "duel:{lobby:demo}:"+guest.id).Val(); lastDuel != "" {
			t.Errorf("Redis keeps the last duel of the guest, %s", lastDuel)
		}
		checkErasedEverywhere(t, node, cluster)
	})
}

// quickArena are the settings of an arena for tests in which they do not matter.
var quickArena = protocol.NewArena{Mode: "survival", Name: "Cup", Pace: "auto", Questions: protocol.ArenaQuestions{Count: 2, Lang: "en"}}

// reconnectPlayer opens a new connection of the same player.
func reconnectPlayer(t *testing.T, url string, c *matchClient) *matchClient {
	t.Helper()
	reconnected := newMatchClient(t, url, player.Guest{ID: c.ID, Nickname: c.Nickname, Token: c.Token})
	reconnected.key = newAnswerKey(t)
	return reconnected
}

// playArena plays a ranked buzzer match to its end.
func playArena(t *testing.T, url, host string, players ...*matchClient) {
	t.Helper()
	created := createArena(t, url, host, protocol.NewArena{
		Mode: "buzzer", Name: "Cup", Pace: "auto", Ranked: true, Questions: protocol.ArenaQuestions{Count: 3},
		Teams: []protocol.ArenaTeam{{ID: "red", Name: "Red"}, {ID: "blue", Name: "Blue"}},
	})
	clients := []*matchClient{joinArena(t, url, player.Guest{ID: "quizmaster", Token: host}, protocol.ArenaJoin{Code: created.Code, As: "host"})}
	for _, c := range players {
		client := joinArena(t, url, player.Guest{ID: c.ID, Nickname: c.Nickname, Token: c.Token}, protocol.ArenaJoin{Code: created.Code})
		client.key, client.waitForSettled = newAnswerKey(t), true
		client.plan = func(int) (right, silent bool) { return true, false }
		clients = append(clients, client)
	}
	clients[0].mustRequest(t, protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: created.ArenaID})
	playAll(t, clients)
}

// checkErasedEverywhere deletes the last data of the erasures and searches all stores.
func checkErasedEverywhere(t *testing.T, node *testNode, cluster testCluster) {
	t.Helper()
	store, err := ledger.Open(t.Context(), ledger.Config{URL: cluster.db.URL, Dir: cluster.db.Dir})
	if err != nil {
		t.Fatal(err)
	}
	for found := true; found; {
		if found, err = store.Accounts.ForgetErased(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
	var board struct {
		Entries []struct{ ID, Nickname string }
	}
	waitUntil(t, "the leaderboards have applied the erasures", func() bool {
		get(t, node.url+"/v1/games/demo/leaderboards/all", &board)
		return len(board.Entries) == 3 && !strings.Contains(fmt.Sprint(board.Entries), personalData[0])
	})
	node.run(t, 0, "boards", "verify", "--game=demo")
	waitUntil(t, "Redis has no lasting personal data", func() bool {
		lastingKeys := lastingPersonalKeys(t, cluster.redis)
		if len(lastingKeys) > 0 {
			t.Logf("Redis has %q", lastingKeys)
		}
		return len(lastingKeys) == 0
	})
	node.stop()
	for _, text := range personalData {
		for _, found := range append(filesContaining(t, cluster.db.Dir, text), rowsContaining(t, cluster.db.URL, text)...) {
			t.Errorf("%s: %s", text, found)
		}
	}
}

// lastingPersonalKeys returns the keys with personal data, except keys of a match and of limits.
// Redis deletes the keys of a match at its end or after 48 h, and the keys of limits within 25 h.
func lastingPersonalKeys(t *testing.T, url string) (lasting []string) {
	t.Helper()
	for key, ttl := range keysWithPersonalData(t, url) {
		switch {
		case strings.HasPrefix(key, "m:{") && ttl > 0 && ttl <= 48*time.Hour:
		case strings.HasPrefix(key, "limit:{") && ttl > 0 && ttl <= 25*time.Hour:
		case strings.HasPrefix(key, "names:{demo}:held:") && ttl > 0 && ttl <= 5*time.Minute:
		default:
			lasting = append(lasting, fmt.Sprint(key, " for ", ttl))
		}
	}
	return lasting
}

// keysWithPersonalData returns the keys with personal data in their names or values, and their
// remaining time to live.
func keysWithPersonalData(t *testing.T, url string) map[string]time.Duration {
	t.Helper()
	client, found := redisClient(t, url), map[string]time.Duration{}
	keys := client.Scan(t.Context(), 0, "*", 1000).Iterator()
	for keys.Next(t.Context()) {
		key := keys.Val()
		keyAndContent := key + keyContent(t, client, key)
		for _, text := range personalData {
			if strings.Contains(keyAndContent, text) {
				found[key] = client.TTL(t.Context(), key).Val()
			}
		}
	}
	testenv.NoError(t, keys.Err())
	return found
}

// keyContent returns the whole content of a key.
func keyContent(t *testing.T, client *redis.Client, key string) string {
	t.Helper()
	ctx := t.Context()
	switch kind := client.Type(ctx, key).Val(); kind {
	case "string":
		return client.Get(ctx, key).Val()
	case "hash":
		return fmt.Sprint(client.HGetAll(ctx, key).Val())
	case "list":
		return fmt.Sprint(client.LRange(ctx, key, 0, -1).Val())
	case "set":
		return fmt.Sprint(client.SMembers(ctx, key).Val())
	case "zset":
		return fmt.Sprint(client.ZRange(ctx, key, 0, -1).Val())
	case "stream":
		return fmt.Sprint(client.XRange(ctx, key, "-", "+").Val())
	case "none": // the key has expired since the scan
	default:
		t.Errorf("a key of type %s: %s", kind, key)
	}
	return ""
}

// filesContaining returns the files of a folder that contain a text, as they are on disk.
func filesContaining(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if strings.Contains(string(raw), text) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// rowsContaining returns the rows of a PostgreSQL that contain a text. Without a URL it returns
// none.
func rowsContaining(t *testing.T, url, text string) (found []string) {
	t.Helper()
	if url == "" {
		return nil
	}
	db := testenv.Need(sql.Open("pgx", url))(t)
	defer db.Close()
	tables := queryColumn(t, db, `SELECT CAST(tablename AS TEXT) FROM pg_tables WHERE schemaname = 'public'`)
	if len(tables) < 20 {
		t.Fatalf("tables %q", tables)
	}
	for _, table := range tables {
		query := fmt.Sprintf("SELECT %q || ': ' || r FROM (SELECT CAST(%s AS TEXT) AS r FROM %s) AS all_of_it WHERE strpos(r, $1) > 0", table, table, table)
		found = append(found, queryColumn(t, db, strings.ReplaceAll(query, `"`, `'`), text)...)
	}
	return found
}

// queryColumn returns the values of the only column of a query.
func queryColumn(t *testing.T, db *sql.DB, query string, args ...any) (values []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		var value string
		testenv.NoError(t, rows.Scan(&value))
		values = append(values, value)
	}
	testenv.NoError(t, rows.Err())
	return values
}
