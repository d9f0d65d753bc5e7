package main

import (
	"net/http"
	"testing"

	"laststand/internal/cli"
	"laststand/internal/leaderboard"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/checker"
	player "laststand/loadtest/players"
)

// fastArenasConfig is a configuration for arenas without long pauses.
const fastArenasConfig = `
games:
  demo:
    duel: {questions: 5, time_limit_ms: 60000, countdown_ms: 50, reveal_ms: 20, bot_after_ms: 0}
    arena: {time_limit_ms: 60000, countdown_ms: 300, reveal_ms: 1000, team_lockout_ms: 0}
limits: {messages_per_second: 1000, guests_per_minute_per_address: 0, max_scheduler_lag_ms: 0}
`

// runOnEachDeployment runs a test on one embedded node, and on three nodes that share a Redis
// cluster and PostgreSQL.
func runOnEachDeployment(t *testing.T, test func(t *testing.T, urls []string, token func(role, sub string) string)) {
	t.Helper()
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		flags := cli.Flags{Config: configFile(t, fastArenasConfig), Data: &db.Dir, Database: &db.URL}
		nodes := 1
		if db.URL != "" {
			cluster := testenv.StartCluster(t, 3, 0).URL
			flags.Redis, nodes = &cluster, 3
		}
		var urls []string
		var node *testNode
		for range nodes {
			node = startNode(t, flags)
			urls = append(urls, node.url)
		}
		test(t, urls, func(role, sub string) string { return node.token(t, role, sub) })
	})
}

// newGuests creates guests, one after the other at the next node.
func newGuests(t *testing.T, urls []string, count int) []player.Guest {
	t.Helper()
	guests := make([]player.Guest, count)
	for i := range guests {
		g := testenv.Need(player.CreateGuest(t.Context(), urls[i%len(urls)], "demo", ""))(t)
		guests[i] = g
	}
	return guests
}

// TestABuzzerQuestionHasOneWinnerAcrossNodes lets two teams on several nodes race. Every question has at most one
// winner, and the server sends all players the same result, which is also in the ledger.
func TestABuzzerQuestionHasOneWinnerAcrossNodes(t *testing.T) {
	runOnEachDeployment(t, func(t *testing.T, urls []string, token func(role, sub string) string) {
		const questions, players = 6, 12
		created := createArena(t, urls[0], token("host", "quizmaster"), protocol.NewArena{
			Mode: "buzzer", Name: "Friday", Pace: "auto", Ranked: true, Questions: protocol.ArenaQuestions{Count: questions},
			Teams: []protocol.ArenaTeam{{ID: "red", Name: "Red"}, {ID: "blue", Name: "Blue"}},
		})
		host := joinArena(t, urls[0], player.Guest{ID: "quizmaster", Token: token("host", "quizmaster")}, protocol.ArenaJoin{Code: created.Code, As: "host"})
		key := newAnswerKey(t)
		clients := []*matchClient{host}
		for i, guest := range newGuests(t, urls, players) {
			c := joinArena(t, urls[(i+1)%len(urls)], guest, protocol.ArenaJoin{Code: created.Code})
			c.key, c.waitForSettled = key, true
			c.plan = func(q int) (right, silent bool) { return q != 2 && (i+q)%3 != 0, false } // no player knows question 2
			clients = append(clients, c)
		}
		watcher := testenv.Need(player.CreateGuest(t.Context(), urls[0], "demo", ""))(t)
		clients = append(clients, joinArena(t, urls[len(urls)-1], watcher, protocol.ArenaJoin{Code: created.Code, As: "spectator"}))
		rules := new(checker.Checker)
		follow(rules, clients[1:1+players], host, clients[1+players])
		host.mustRequest(t, protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: created.ArenaID})
		playAll(t, clients)
		judge(t, rules)
		checkBuzzer(t, clients, questions)
		checkBuzzerStored(t, urls, clients)
	})
}

// checkBuzzer checks what the plan of the players leads to: question 2 has no winner, and all
// others have one.
func checkBuzzer(t *testing.T, clients []*matchClient, questions int) {
	t.Helper()
	for q, closed := range clients[0].closed {
		want := "first_correct"
		if q == 2 {
			want = "all_answered"
		}
		if closed.Reason != want || (closed.First == nil) != (q == 2) || closed.Void {
			t.Errorf("question %d closed with %+v, want the reason %s", q, closed, want)
		}
	}
	if len(clients[0].closed) != questions {
		t.Fatalf("%d questions were asked", len(clients[0].closed))
	}
}

// checkBuzzerStored compares the ledger and the leaderboard with what the server sent to the players.
func checkBuzzerStored(t *testing.T, urls []string, clients []*matchClient) {
	t.Helper()
	var stored struct {
		Standings []protocol.OverStanding
		Teams     []protocol.TeamStanding
		Firsts    []struct {
			Question int
			Player   string
			Node     string
		}
	}
	get(t, urls[0]+"/v1/games/demo/matches/"+clients[0].match, &stored)
	if len(stored.Standings) != len(clients[0].over.Standings) || len(stored.Teams) != 2 || len(stored.Firsts) != len(clients[0].closed)-1 {
		t.Errorf("the match is stored as %+v", stored)
	}
	for _, first := range stored.Firsts {
		if pushed := clients[0].closed[first.Question].First; pushed.Player != first.Player || first.Node != "" {
			t.Errorf("question %d: stored %+v, pushed %+v", first.Question, first, pushed)
		}
	}
	for _, s := range clients[0].over.Standings {
		var entry leaderboard.Entry
		status := get(t, urls[len(urls)-1]+"/v1/games/demo/leaderboards/all/"+s.Player+"?order=score", &entry)
		if status != http.StatusOK || entry.Score != s.Score || entry.Matches != 1 {
			t.Errorf("leaderboard entry (status %d): %+v, standing in the match: %+v", status, entry, s)
		}
	}
}
