package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"laststand/internal/leaderboard"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/checker"
	player "laststand/loadtest/client"
)

// fastArenas is a configuration for arenas without long pauses.
const fastArenas = `
games:
  demo:
    duel: {questions: 5, time_limit_ms: 60000, countdown_ms: 50, reveal_ms: 20, bot_after_ms: 0}
    arena: {time_limit_ms: 60000, countdown_ms: 300, reveal_ms: 1000, team_lockout_ms: 0}
limits: {messages_per_second: 1000, guests_per_minute_per_address: 0}
`

// runOnEachDeployment runs a test on one embedded node, and on three nodes that share a Redis
// cluster and PostgreSQL.
func onEachCluster(t *testing.T, f func(t *testing.T, urls []string, token func(role, sub string) string)) {
	t.Helper()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		flags := cli{Config: configFile(t, fastArenas), Data: &db.Dir, Database: &db.URL}
		nodes := 1
		if db.URL != "" {
			cluster := testenv.StartCluster(t, 3, 0).URL
			flags.Redis, nodes = &cluster, 3
		}
		var urls []string
		for range nodes {
			urls = append(urls, startNode(t, flags).url)
		}
		f(t, urls, func(role, sub string) string { return mintToken(t, flags, role, sub) })
	})
}

// mintToken returns a token that `server token` prints.
func mintToken(t *testing.T, flags cli, role, sub string) string {
	t.Helper()
	args := []string{"token", "--config=" + flags.Config, "--data=" + *flags.Data, "--database=" + *flags.Database,
		"--game=demo", "--role=" + role, "--sub=" + sub}
	code, out, stderr := command(args...)
	if code != 0 {
		t.Fatalf("server token: %s", stderr)
	}
	return strings.TrimSpace(out)
}

// newGuests creates guests, one after the other at the next node.
func newGuests(t *testing.T, urls []string, n int) []player.Guest {
	t.Helper()
	guests := make([]player.Guest, n)
	for i := range guests {
		g, err := player.CreateGuest(t.Context(), urls[i%len(urls)], "demo", "")
		if err != nil {
			t.Fatal(err)
		}
		guests[i] = g
	}
	return guests
}

// TestABuzzerQuestionHasOneWinnerAcrossNodes lets two teams on several nodes race. Every question has at most one
// winner, and the server sends all players the same result, which is also in the ledger.
func TestABuzzerQuestionHasOneWinnerAcrossNodes(t *testing.T) {
	t.Parallel()
	onEachCluster(t, func(t *testing.T, urls []string, token func(role, sub string) string) {
		const questions, players = 6, 12
		made := createArena(t, urls[0], token("host", "quizmaster"), protocol.NewArena{
			Mode: "buzzer", Name: "Friday", Pace: "auto", Ranked: true, Questions: protocol.ArenaQuestions{Count: questions},
			Teams: []protocol.ArenaTeam{{ID: "red", Name: "Red"}, {ID: "blue", Name: "Blue"}},
		})
		host := joinArena(t, urls[0], player.Guest{ID: "quizmaster", Token: token("host", "quizmaster")}, protocol.ArenaJoin{Code: made.Code, As: "host"})
		key := newAnswerKey(t)
		all := []*matchClient{host}
		for i, g := range newGuests(t, urls, players) {
			c := joinArena(t, urls[(i+1)%len(urls)], g, protocol.ArenaJoin{Code: made.Code})
			c.key, c.waitForSettled = key, true
			c.plan = func(q int) (right, silent bool) { return q != 2 && (i+q)%3 != 0, false } // no player knows question 2
			all = append(all, c)
		}
		watcher, err := player.CreateGuest(t.Context(), urls[0], "demo", "")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, joinArena(t, urls[len(urls)-1], watcher, protocol.ArenaJoin{Code: made.Code, As: "spectator"}))
		rules := new(checker.Checker)
		follow(rules, all[1:1+players], host, all[1+players])
		host.mustRequest(t, protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: made.ArenaID})
		playAll(t, all)
		judge(t, rules)
		checkBuzzer(t, all, questions)
		checkBuzzerKept(t, urls, all)
	})
}

// checkBuzzer checks what the plan of the players leads to: question 2 has no winner, and all
// others have one.
func checkBuzzer(t *testing.T, all []*matchClient, questions int) {
	t.Helper()
	for q, closed := range all[0].closed {
		want := "first_correct"
		if q == 2 {
			want = "all_answered"
		}
		if closed.Reason != want || (closed.First == nil) != (q == 2) || closed.Void {
			t.Errorf("question %d closed with %+v, want the reason %s", q, closed, want)
		}
	}
	if len(all[0].closed) != questions {
		t.Fatalf("%d questions were asked", len(all[0].closed))
	}
}

// checkBuzzerStored compares the ledger and the leaderboard with what the server sent to the players.
func checkBuzzerKept(t *testing.T, urls []string, all []*matchClient) {
	t.Helper()
	var kept struct {
		Standings []protocol.OverStanding
		Teams     []protocol.TeamStanding
		Firsts    []struct {
			Question int
			Player   string
			Node     string
		}
	}
	get(t, urls[0]+"/v1/games/demo/matches/"+all[0].match, &kept)
	if len(kept.Standings) != len(all[0].over.Standings) || len(kept.Teams) != 2 || len(kept.Firsts) != len(all[0].closed)-1 {
		t.Errorf("the match is stored as %+v", kept)
	}
	for _, f := range kept.Firsts {
		if payload := all[0].closed[f.Question].First; payload.Player != f.Player || f.Node != "" {
			t.Errorf("question %d: stored %+v, pushed %+v", f.Question, f, payload)
		}
	}
	for _, s := range all[0].over.Standings {
		var e leaderboard.Entry
		status := get(t, urls[len(urls)-1]+"/v1/games/demo/leaderboards/all/"+s.Player+"?order=score", &e)
		if status != http.StatusOK || e.Score != s.Score || e.Matches != 1 {
			t.Errorf("leaderboard entry (status %d): %+v, standing in the match: %+v", status, e, s)
		}
	}
}

// TestEachPlayerOfALargeSurvivalArenaGetsTheirResult has more players than a push lists. The server sends each player their own
// result, and the expected player survives last.
func TestEachPlayerOfALargeSurvivalArenaGetsTheirResult(t *testing.T) {
	t.Parallel()
	onEachCluster(t, func(t *testing.T, urls []string, token func(role, sub string) string) {
		const players = 60
		made := createArena(t, urls[0], token("player", "p_host"), protocol.NewArena{
			Mode: "survival", Name: "Last one standing", Pace: "auto", Questions: protocol.ArenaQuestions{Count: 10},
		})
		host := joinArena(t, urls[0], player.Guest{ID: "p_host", Token: token("player", "p_host")}, protocol.ArenaJoin{Code: made.Code, As: "host"})
		key := newAnswerKey(t)
		all := []*matchClient{host}
		for i, g := range newGuests(t, urls, players) {
			c := joinArena(t, urls[(i+1)%len(urls)], g, protocol.ArenaJoin{Code: made.Code})
			c.key = key
			c.plan = func(q int) (right, silent bool) { return q != 1 && q < lastQuestionOf(i), false } // no player survives question 1: it is void
			all = append(all, c)
		}
		rules := new(checker.Checker)
		follow(rules, all[1:], host)
		host.mustRequest(t, protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: made.ArenaID})
		playAll(t, all)
		judge(t, rules)
		checkSurvival(t, all[0], all[1:])
	})
}

// eliminatingQuestion returns the question that eliminates a player. Question 6 eliminates all
// remaining players except player 58, who wins.
func lastQuestionOf(i int) int { return 2 + min(i/12, 4) + i/58 - i/59 }

func checkSurvival(t *testing.T, host *matchClient, players []*matchClient) {
	t.Helper()
	if got := host.found; got.Players != len(players) || len(got.Seats) != 0 || got.ArenaID == "" {
		t.Errorf("the match was announced with %+v", got)
	}
	if !host.closed[1].Void || host.closed[1].Right != 0 {
		t.Errorf("question 1 closed with %+v, want it void", host.closed[1])
	}
	for i, c := range players {
		if len(c.personalResults) != len(c.closed) {
			t.Fatalf("%s got %d personal results for %d closed questions", c.id, len(c.personalResults), len(c.closed))
		}
		for q, own := range c.personalResults {
			wantOut := q >= lastQuestionOf(i) && q != 1
			if own.Out != wantOut || own.Question != q || own.Rank < 1 {
				t.Errorf("player %d (out at question %d) got the personal result %+v", i, lastQuestionOf(i), own)
			}
			if e, ok := c.refused[q]; ok != (q > lastQuestionOf(i)) || ok && e.Code != protocol.CodeEliminated {
				t.Errorf("player %d (out at %d): question %d was refused with %+v", i, lastQuestionOf(i), q, e)
			}
		}
	}
	over := host.over
	if len(over.Standings) != 10 || over.Reason != "finished" || over.Winner != players[58].id || over.Standings[0].Player != players[58].id {
		t.Errorf("the match ended with %+v, want the winner %s", over, players[58].id)
	}
	if fmt.Sprint(host.closed[len(host.closed)-1].Right) != "1" {
		t.Errorf("the last question closed with %d right", host.closed[len(host.closed)-1].Right)
	}
}
