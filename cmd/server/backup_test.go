package main

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"laststand/internal/cli"
	"laststand/internal/testenv"
)

// A backup of a running server is restored into another database, beside an empty Redis. Every
// view shows what the original shows.
func TestEveryViewOfARestoredServerIsLikeTheOriginal(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) }))
		t.Cleanup(receiver.Close)
		config := configFile(t, webhookConfigText("UTC", fmt.Sprintf(`{name: gone, url: "%s/gone", events: [match.settled], allow_private: true}`, receiver.URL)))
		original := newViewReader(t, config, db)
		file := filepath.Join(t.TempDir(), "backup")
		original.fill()
		checkContains(t, original.run(t, 0, "backup", file), "6 players, 3 matches", "no differences")
		want := original.views()
		original.stop()

		testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
			db.Dir = filepath.Join(db.Dir, "new")
			code, _, stderr := command("restore", file, "--config="+config, "--data="+db.Dir, "--database="+db.URL)
			if code != 0 {
				t.Fatal(stderr)
			}
			restored := newViewReader(t, config, db)
			restored.players, restored.matches = original.players, original.matches
			got := restored.views()
			for name := range maps.Keys(want) {
				if got[name] != want[name] || strings.TrimSpace(got[name]) == "" {
					t.Errorf("%s is\n%s\nwant\n%s", name, got[name], want[name])
				}
			}
			code, _, stderr = command("restore", file, "--config="+config, "--data="+db.Dir, "--database="+db.URL)
			if code != 1 || !strings.Contains(stderr, "exist") && !strings.Contains(stderr, "has a ledger already") {
				t.Errorf("a restore over a ledger ended with %d: %s", code, stderr)
			}
		})
	})
}

// viewReader reads what a node shows.
type viewReader struct {
	*testNode
	t                *testing.T
	players, matches []string
}

// newViewReader starts a node with an empty Redis.
func newViewReader(t *testing.T, config string, db testenv.SQL) *viewReader {
	cache := redisWithDocumentedKeys(t)
	node := startNode(t, cli.Flags{Config: config, Data: &db.Dir, Database: &db.URL, Redis: &cache})
	return &viewReader{testNode: node, t: t}
}

// fill plays duels, and adds a ban, a revocation, a correction, a key and dead tasks.
func (v *viewReader) fill() {
	for _, c := range playDuels(v.t, v.url, 3) {
		v.players = append(v.players, c.id)
		v.matches = append(v.matches, c.match)
	}
	v.run(v.t, 0, "bans", "add", "--game=demo", "--player="+v.players[0], "--reason=two accounts")
	v.run(v.t, 0, "tokens", "revoke", "--game=demo", "--subject="+v.players[1], "--reason=lost phone")
	v.run(v.t, 0, "boards", "disqualify", "--game=demo", "--match="+v.matches[0], "--player="+v.players[0], "--reason=two accounts")
	v.run(v.t, 0, "keys", "rotate", "--game=demo")
	waitUntil(v.t, "the webhook is disabled, and no task waits", func() bool {
		tasks := v.run(v.t, 0, "tasks", "list", "--state=all")
		webhooks := v.run(v.t, 0, "webhooks", "list")
		return strings.Contains(webhooks, "410 Gone") && !strings.Contains(tasks, "waiting") && !strings.Contains(tasks, "claimed")
	})
	waitUntil(v.t, "the new key signs", func() bool {
		keys := v.run(v.t, 0, "keys", "list", "--game=demo")
		newest := strings.Split(keys, "\n")[1]
		return strings.Contains(newest, "true")
	})
	waitUntil(v.t, "the answers are in the ledger", func() bool {
		return sumMetric(v.t, v.opsURL, "laststand_answers_waiting_matches") == 0
	})
}

// views returns everything that the node shows, by name.
func (v *viewReader) views() map[string]string {
	views := map[string]string{}
	waitUntil(v.t, "the leaderboards are served", func() bool { return get(v.t, v.url+"/readyz", nil) == http.StatusOK })
	paths := []string{"/leaderboards"}
	for _, window := range []string{"all", "day", "7d", "30d"} {
		for _, order := range []string{"value", "accuracy", "time", "score", "matches"} {
			paths = append(paths, "/leaderboards/"+window+"?limit=100&order="+order)
		}
	}
	for _, player := range v.players {
		paths = append(paths, "/players/"+player, "/players/"+player+"/matches", "/leaderboards/all/"+player)
		profile := v.read("/players/" + player)
		nickname := regexp.MustCompile(`"nickname":"([^"]+)"`).FindStringSubmatch(profile)
		paths = append(paths, "/nicknames/"+strings.ReplaceAll(nickname[1], " ", "%20"))
	}
	for _, match := range v.matches {
		paths = append(paths, "/matches/"+match)
	}
	for _, path := range paths {
		views[path] = v.read(path)
	}
	for _, line := range []string{
		"bans list --game=demo", "tokens list-revoked --game=demo", "tasks list --state=all", "task-queues list", "webhooks list", "keys list --game=demo",
	} {
		views[line] = v.run(v.t, 0, strings.Fields(line)...)
	}
	// The last columns are what the node itself has sent.
	views["webhooks list"] = regexp.MustCompile(`(?m)  -  .*$`).ReplaceAllString(views["webhooks list"], "")
	checkContains(v.t, v.run(v.t, 0, "boards", "verify", "--game=demo"), ": 0 differences")
	return views
}

// read returns the answer of a route of the game, without suggested names, which are random.
func (v *viewReader) read(path string) string {
	r := send(v.t, http.MethodGet, v.url+"/v1/games/demo"+path, "", nil)
	text := regexp.MustCompile(`"suggestions":\[[^]]*\]`).ReplaceAll(r.body, nil)
	return fmt.Sprint(r.status, " ", string(text))
}
