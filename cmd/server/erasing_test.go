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
	player "laststand/loadtest/client"
)

// personalData are the values that identify the players who are erased in a test. No store may
// hold one of them afterwards.
var personalData = []string{"jane.doe.1984", "Zaphodian", "zaphodian", "Trilliana", "trilliana", device}

const fastErasing = `
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
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		server := testenv.Redis(t)
		h := testCluster{config: configFile(t, fastErasing), redis: server.URL, db: db}
		if db.Dir == "" {
			h.db.Dir = t.TempDir()
		}
		n := h.node(t)
		at := []string{"--data=" + h.db.Dir, "--database=" + h.db.URL, "--config=" + h.config}
		token := mintTokenAt(t, "player", personalData[0], at)
		jane := newMatchClient(t, n.url, player.Guest{ID: personalData[0], Token: token})
		jane.key = newAnswerKey(t)
		named := func(token, name string) {
			t.Helper()
			if status, p := requestJSON(t, "PUT", n.url+"/v1/games/demo/players/me/nickname", token, map[string]string{"nickname": name}); status != http.StatusOK {
				t.Fatalf("the name %s: %d %v", name, status, p)
			}
		}
		named(token, "Zaphodian")
		guest := newDeviceGuest(t, n.url, device)
		named(guest.Token, "Trilliana")
		other := newDuelClient(t, n.url, "demo")

		first := pairUp(t, jane, guest).waitForMatch(t)
		playToEnd(t, first[:]...)
		waitUntil(t, "the duel is settled", func() bool { return getProfile(t, n.url, "demo", guest.id).Matches == 1 })
		early := pairUp(t, reconnectPlayer(t, n.url, jane), reconnectPlayer(t, n.url, guest)).waitForMatch(t)
		early[1].request(t, protocol.TypeMatchLeave, protocol.MatchLeave{Match: early[1].match})
		early[0].readUntilPush(t, protocol.TypeMatchOver) // the duel is not stored
		playArena(t, n.url, mintTokenAt(t, "host", "quizmaster", at), jane, guest, other)
		waitUntil(t, "the arena is settled", func() bool { return getProfile(t, n.url, "demo", other.id).Matches == 1 })
		last := pairUp(t, reconnectPlayer(t, n.url, jane), reconnectPlayer(t, n.url, other)).waitForMatch(t)
		for _, c := range last {
			c.readUntilPush(t, protocol.TypeQuestion)
			c.submitAndRead(t, true)
		}
		last[1].readUntilPush(t, protocol.TypeQuestionClosed) // otherwise the duel is not stored
		for _, token := range []string{token, guest.Token} {
			if status, _ := requestJSON(t, "DELETE", n.url+"/v1/games/demo/players/me", token, nil); status != http.StatusNoContent {
				t.Fatalf("erasure: %d", status)
			}
		}
		if status, p := requestJSON(t, "POST", n.url+"/v1/games/demo/arenas", mintTokenAt(t, "host", personalData[0], at), quickArena); status != http.StatusUnauthorized {
			t.Errorf("an arena of an erased host: %d %v", status, p)
		}
		last[1].readUntilPush(t, protocol.TypeMatchOver)
		waitUntil(t, "the last duel is settled", func() bool { return getProfile(t, n.url, "demo", other.id).Matches == 2 })
		if last := lastDuel(t, h.redis, guest.id); last != "" {
			t.Errorf("Redis keeps the last duel of the guest, %s", last)
		}
		checkErasedEverywhere(t, n, h)
	})
}

// quickArena are the settings of an arena for tests in which they do not matter.
var quickArena = protocol.NewArena{Mode: "survival", Name: "Cup", Pace: "auto", Questions: protocol.ArenaQuestions{Count: 2, Lang: "en"}}

// storedLastDuel returns what Redis stores about a player's last duel, or "".
func lastDuel(t *testing.T, url, player string) string {
	t.Helper()
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	defer client.Close()
	return client.Get(t.Context(), "duel:{lobby:demo}:"+player).Val()
}

// reconnectPlayer opens a new connection of the same player.
func reconnectPlayer(t *testing.T, url string, c *matchClient) *matchClient {
	t.Helper()
	again := newMatchClient(t, url, player.Guest{ID: c.ID, Nickname: c.Nickname, Token: c.Token})
	again.key = newAnswerKey(t)
	return again
}

// playArena plays a ranked buzzer match to its end.
func playArena(t *testing.T, url, host string, all ...*matchClient) {
	t.Helper()
	made := createArena(t, url, host, protocol.NewArena{
		Mode: "buzzer", Name: "Cup", Pace: "auto", Ranked: true, Questions: protocol.ArenaQuestions{Count: 3},
		Teams: []protocol.ArenaTeam{{ID: "red", Name: "Red"}, {ID: "blue", Name: "Blue"}},
	})
	seated := []*matchClient{joinArena(t, url, player.Guest{ID: "quizmaster", Token: host}, protocol.ArenaJoin{Code: made.Code, As: "host"})}
	for _, c := range all {
		s := joinArena(t, url, player.Guest{ID: c.ID, Nickname: c.Nickname, Token: c.Token}, protocol.ArenaJoin{Code: made.Code})
		s.key, s.waitForSettled = newAnswerKey(t), true
		s.plan = func(int) (right, silent bool) { return true, false }
		seated = append(seated, s)
	}
	seated[0].mustRequest(t, protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: made.ArenaID})
	playAll(t, seated)
}

// checkErasedEverywhere waits for the steps of the erasure and searches all stores.
func checkErasedEverywhere(t *testing.T, n *testNode, h testCluster) {
	t.Helper()
	l, err := ledger.Open(t.Context(), ledger.Config{URL: h.db.URL, Dir: h.db.Dir})
	if err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "no erasure is pending", func() bool {
		if _, err := l.ForgetErased(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		left, err := l.HasErasures(t.Context())
		return err == nil && !left
	})
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	var board struct {
		Entries []struct{ ID, Nickname string }
	}
	waitUntil(t, "the leaderboards have applied the erasures", func() bool {
		get(t, n.url+"/v1/games/demo/leaderboards/all", &board)
		return len(board.Entries) == 3 && !strings.Contains(fmt.Sprint(board.Entries), personalData[0])
	})
	operations := strings.TrimPrefix(n.opsURL, "http://")
	code, out, stderr := command("boards", "verify", "--game=demo", "--data="+h.db.Dir, "--database="+h.db.URL, "--config="+h.config, "--ops-listen="+operations)
	if code != 0 {
		t.Errorf("boards verify: %s %s", out, stderr)
	}
	waitUntil(t, "Redis has no lasting personal data", func() bool {
		kept := personalKeys(t, h.redis)
		if len(kept) > 0 {
			t.Logf("Redis has %q", kept)
		}
		return len(kept) == 0
	})
	n.stop()
	for _, text := range personalData {
		for _, found := range append(filesHolding(t, h.db.Dir, text), rowsHolding(t, h.db.URL, text)...) {
			t.Errorf("%s: %s", text, found)
		}
	}
}

// lastingPersonalKeys returns the keys with personal data, except keys of a match and of limits.
// Redis deletes the keys of a match at its end or after 48 h, and the keys of limits within 25 h.
func personalKeys(t *testing.T, url string) (kept []string) {
	t.Helper()
	for key, left := range keysWith(t, url) {
		switch {
		case strings.HasPrefix(key, "m:{") && left > 0 && left <= 48*time.Hour:
		case strings.HasPrefix(key, "limit:{") && left > 0 && left <= 25*time.Hour:
		default:
			kept = append(kept, fmt.Sprint(key, " for ", left))
		}
	}
	return kept
}

// keysWithPersonalData returns the keys with personal data in their names or values, and their
// remaining time to live.
func keysWith(t *testing.T, url string) map[string]time.Duration {
	t.Helper()
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	defer client.Close()
	found := map[string]time.Duration{}
	keys := client.Scan(t.Context(), 0, "*", 1000).Iterator()
	for keys.Next(t.Context()) {
		key := keys.Val()
		whole := key + keyContent(t, client, key)
		for _, text := range personalData {
			if strings.Contains(whole, text) {
				found[key] = client.TTL(t.Context(), key).Val()
			}
		}
	}
	if err := keys.Err(); err != nil {
		t.Fatal(err)
	}
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
func filesHolding(t *testing.T, dir, text string) (found []string) {
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
func rowsHolding(t *testing.T, url, text string) (found []string) {
	t.Helper()
	if url == "" {
		return nil
	}
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tables := column(t, db, `SELECT CAST(tablename AS TEXT) FROM pg_tables WHERE schemaname = 'public'`)
	if len(tables) < 20 {
		t.Fatalf("tables %q", tables)
	}
	for _, table := range tables {
		query := fmt.Sprintf("SELECT %q || ': ' || r FROM (SELECT CAST(%s AS TEXT) AS r FROM %s) AS all_of_it WHERE strpos(r, $1) > 0", table, table, table)
		found = append(found, column(t, db, strings.ReplaceAll(query, `"`, `'`), text)...)
	}
	return found
}

// queryColumn returns the values of the only column of a query.
func column(t *testing.T, db *sql.DB, query string, args ...any) (all []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
