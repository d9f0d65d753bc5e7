package main

import (
	"encoding/json"
	"testing"

	"laststand/internal/config"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/checker"
)

// duelConfigsByPhase are the duel settings of three games. A duel stays for a minute in the phase
// that its game is named after. In demo it stays in an open question.
var duelConfigsByPhase = map[string]config.Duel{
	"demo":      {Questions: 4, TimeLimitMS: 60_000, CountdownMS: 50, RevealMS: 50},
	"countdown": {Questions: 2, TimeLimitMS: 60_000, CountdownMS: 60_000, RevealMS: 50},
	"reveal":    {Questions: 2, TimeLimitMS: 60_000, CountdownMS: 50, RevealMS: 60_000},
}

// Redis loses all its data during matches in every phase, and while players are in an arena's
// lobby. All matches end as abandoned, with the next push number. The server settles none of them,
// and their players may play again immediately.
func TestMatchesAreAbandonedWhenRedisLosesItsData(t *testing.T) {
	t.Parallel()
	for failure, loseData := range map[string]func(*testing.T, *testenv.Server){
		"flushed": func(t *testing.T, s *testenv.Server) { redisCommand(t, s, "FLUSHALL") },
		"restarted": func(_ *testing.T, s *testenv.Server) {
			s.Kill()
			s.Restart()
		},
	} {
		t.Run(failure, func(t *testing.T) {
			t.Parallel()
			server := testenv.Redis(t)
			cluster := newTestCluster(t, server.URL, duelsConfig(duelConfigsByPhase))
			first, second := cluster.node(t), cluster.node(t)
			duels := duelsInEveryPhase(t, first.url, second.url)
			host, lobbyPlayer := openLobby(t, first.url, second.url)
			loseData(t, server)
			for game, duel := range duels {
				duel.each(func(c *matchClient) { c.waitForAbandoned(t) })
				checkUnsettled(t, first.url, game, duel[:]...)
			}
			host.waitForAbandonedLobby(t)
			lobbyPlayer.waitForAbandonedLobby(t)
			for _, node := range []*testNode{first, second} {
				if counted := sumMetric(t, node.opsURL, "laststand_match_ends_total", `reason="abandoned"`); counted != len(duels)+1 {
					t.Errorf("%d abandoned matches are counted, want %d", counted, len(duels)+1)
				}
			}
			for _, duel := range duels {
				rematch := pairUp(t, duel[0].withoutMatch(), duel[1].withoutMatch()).waitForMatch(t)
				if rematch[0].Welcome.Game == "demo" {
					playToEnd(t, rematch[:]...)
					checkSamePushes(t, rematch[:]...)
					checkSettledOnce(t, first.url, "demo", rematch[0].over)
				}
			}
		})
	}
}

// duelsInEveryPhase starts duels between players of two nodes. They stop in the countdown, in a
// question that one player has answered, and in a reveal.
func duelsInEveryPhase(t *testing.T, first, second string) map[string]duelPair {
	t.Helper()
	duels := map[string]duelPair{}
	for game := range duelConfigsByPhase {
		duel := startDuel(t, first, second, game)
		if game != "countdown" {
			duel.each(func(c *matchClient) { c.readUntilPush(t, protocol.TypeQuestion) })
			duel[0].submitAndRead(t, true)
		}
		if game == "reveal" {
			duel[1].submitAndRead(t, true)
			duel.each(func(c *matchClient) { c.readUntilPush(t, protocol.TypeQuestionClosed) })
		}
		duels[game] = duel
	}
	return duels
}

// waitForAbandoned waits until the match ends as abandoned, with the next push number.
func (c *matchClient) waitForAbandoned(t *testing.T) {
	t.Helper()
	c.readUntil(t, "the end", func(f checker.Frame) bool { return f.Type == protocol.TypeMatchOver })
	if c.over.Reason != "abandoned" || len(c.over.Standings) != 0 || c.over.Winner != "" {
		t.Errorf("%s got the end %+v, want it abandoned and without standings", c.id, c.over)
	}
}

// waitForAbandonedLobby waits until the arena whose lobby the client is in ends.
func (c *matchClient) waitForAbandonedLobby(t *testing.T) {
	t.Helper()
	var end protocol.ArenaEnd
	readData(t, c.readUntilPush(t, protocol.TypeArenaClosed), &end)
	if end.Reason != "abandoned" || end.ArenaID != c.joined.ArenaID {
		t.Errorf("%s is in arena %s and got the end %+v, want it abandoned", c.id, c.joined.ArenaID, end)
	}
}

// openLobby creates an arena that has not started. Its host is at one node, a player at the
// other.
func openLobby(t *testing.T, first, second string) (host, player *matchClient) {
	t.Helper()
	host, player = newDuelClient(t, first, "demo"), newDuelClient(t, second, "demo")
	created := createArena(t, first, host.Token, protocol.NewArena{
		Mode: "survival", Name: "Too early", Pace: "auto", Questions: protocol.ArenaQuestions{Count: 3},
	})
	for c, role := range map[*matchClient]string{host: "host", player: "player"} {
		reply := c.request(t, protocol.TypeArenaJoin, protocol.ArenaJoin{Code: created.Code, As: role})
		if err := json.Unmarshal(reply.Data, &c.joined); err != nil || reply.Type != protocol.TypeArenaJoined {
			t.Fatalf("joining was answered with %s", reply.Raw)
		}
	}
	return host, player
}
