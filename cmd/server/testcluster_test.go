package main

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"laststand/internal/cli"
	"laststand/internal/config"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

// testCluster has what the nodes of a test share: a configuration, Redis, a ledger.
type testCluster struct {
	config, redis string
	db            testenv.SQL
}

func newTestCluster(t *testing.T, redis, config string) testCluster {
	t.Helper()
	return testCluster{config: configFile(t, config), redis: redis, db: testenv.Database(t)}
}

// node starts a node in this process.
func (c testCluster) node(t *testing.T) *testNode {
	t.Helper()
	return startNode(t, cli.Flags{Config: c.config, Data: &c.db.Dir, Database: &c.db.URL, Redis: &c.redis})
}

// process starts a node in its own process.
func (c testCluster) process(t *testing.T) *nodeProcess {
	t.Helper()
	return startProcess(t, "--config="+c.config, "--data="+c.db.Dir, "--database="+c.db.URL, "--redis="+c.redis)
}

// duelsConfig is a configuration of games that differ in their duels.
func duelsConfig(games map[string]config.Duel) string {
	text := "games:\n"
	for name, d := range games {
		text += fmt.Sprintf("  %s:\n    duel: {questions: %d, time_limit_ms: %d, countdown_ms: %d, reveal_ms: %d, bot_after_ms: 0}\n",
			name, d.Questions, d.TimeLimitMS, d.CountdownMS, d.RevealMS)
	}
	return text + "limits: {messages_per_second: 1000, guests_per_minute_per_address: 0}\n"
}

// sumMetric adds up the series of a node's metric whose labels contain all these texts.
func sumMetric(t *testing.T, opsURL, name string, labels ...string) (sum int) {
	t.Helper()
	for line := range strings.Lines(metrics(t, opsURL)) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if family, _, _ := strings.Cut(series, "{"); family != name || !containsAll(series, labels) {
			continue
		}
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		sum += int(number)
	}
	return sum
}

func containsAll(text string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}

// checkSettledOnce waits until the ledger has a match as the server sent it to its players. It must be the
// only match of each player.
func checkSettledOnce(t *testing.T, url, game string, over *protocol.MatchOver) {
	t.Helper()
	for _, s := range over.Standings {
		waitUntil(t, "a match is in the ledger", func() bool { return getProfile(t, url, game, s.Player).Matches > 0 })
		if p := getProfile(t, url, game, s.Player); p.Matches != 1 || p.Score != s.Score || p.Asked != int64(s.Asked) {
			t.Errorf("the profile has %+v, the match has %+v", p, s)
		}
	}
}

// checkUnsettled checks that the ledger has no results of the players.
func checkUnsettled(t *testing.T, url, game string, clients ...*matchClient) {
	t.Helper()
	for _, c := range clients {
		if p := getProfile(t, url, game, c.id); p != (playerProfile{}) {
			t.Errorf("the profile of %s has %+v, want no results", c.id, p)
		}
	}
}

type playerProfile struct{ Score, Matches, Asked int64 }

func getProfile(t *testing.T, url, game, id string) (p playerProfile) {
	t.Helper()
	if status := get(t, url+"/v1/games/"+game+"/players/"+id, &p); status != http.StatusOK {
		t.Errorf("the profile of %s: %d", id, status)
	}
	return p
}

// checkSamePushes checks that all clients got the same pushes.
func checkSamePushes(t *testing.T, clients ...*matchClient) {
	t.Helper()
	for _, c := range clients[1:] {
		if !bytes.Equal(c.numberedPushes.Bytes(), clients[0].numberedPushes.Bytes()) {
			t.Errorf("%s got the pushes\n%s\n%s got the pushes\n%s", c.id, &c.numberedPushes, clients[0].id, &clients[0].numberedPushes)
		}
	}
}
