package main

import (
	"encoding/json"
	"testing"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/player"
)

// abandonDuels stand still where their names say.
var abandonDuels = map[string]duel{
	"demo":      {Questions: 4, TimeLimitMS: 60_000, CountdownMS: 50, RevealMS: 50},
	"countdown": {Questions: 2, TimeLimitMS: 60_000, CountdownMS: 60_000, RevealMS: 50},
	"reveal":    {Questions: 2, TimeLimitMS: 60_000, CountdownMS: 50, RevealMS: 60_000},
}

// Redis is emptied, or dies and comes back empty, over matches in every phase,
// and over an arena's lobby: all end as abandoned with the next number, nothing
// of them is settled, and their players may play again at once.
func TestRedisIsEmptied(t *testing.T) {
	t.Parallel()
	for how, empty := range map[string]func(*testing.T, *testenv.Server){
		"flushed": func(t *testing.T, s *testenv.Server) { tell(t, s, "FLUSHALL") },
		"restarted": func(_ *testing.T, s *testenv.Server) {
			s.Kill()
			s.Restart()
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			server := testenv.Redis(t)
			h := newHouse(t, server.URL, duelsOf(abandonDuels))
			here, there := h.node(t), h.node(t)
			duels := inEveryPhase(t, here.url, there.url)
			host, sitting := openLobby(t, here.url, there.url)
			empty(t, server)
			for game, d := range duels {
				d.each(func(c *contestant) { c.abandoned(t) })
				unsettled(t, here.url, game, d[:]...)
			}
			host.lobbyAbandoned(t)
			sitting.lobbyAbandoned(t)
			for _, n := range []*running{here, there} {
				if counted := metric(t, n.ops, "laststand_match_ends_total", `reason="abandoned"`); counted != len(duels)+1 {
					t.Errorf("%d abandoned matches are counted, want %d", counted, len(duels)+1)
				}
			}
			for _, d := range duels {
				again := meet(t, d[0].again(), d[1].again()).begun(t)
				if again[0].Welcome.Game == "demo" {
					playOn(t, again[:]...)
					sameFeed(t, again[:]...)
					settledOnce(t, here.url, "demo", again[0].over)
				}
			}
		})
	}
}

// inEveryPhase are duels of players at two nodes: in the countdown, in a
// question that one has answered, and in a reveal.
func inEveryPhase(t *testing.T, here, there string) map[string]duelling {
	t.Helper()
	duels := map[string]duelling{}
	for game := range abandonDuels {
		d := meet(t, stranger(t, here, game), stranger(t, there, game)).begun(t)
		if game != "countdown" {
			d.each(func(c *contestant) { c.until(t, protocol.TypeQuestion) })
			d[0].reply(t, true)
		}
		if game == "reveal" {
			d[1].reply(t, true)
			d.each(func(c *contestant) { c.until(t, protocol.TypeQuestionClosed) })
		}
		duels[game] = d
	}
	return duels
}

// abandoned waits until the match ends as such, with the next number.
func (c *contestant) abandoned(t *testing.T) {
	t.Helper()
	c.await(t, "the end", func(f player.Frame) bool { return f.Type == protocol.TypeMatchOver })
	if c.over.Reason != "abandoned" || len(c.over.Standings) != 0 || c.over.Winner != "" {
		t.Errorf("%s was told %+v", c.id, c.over)
	}
}

// lobbyAbandoned waits until the arena ends in whose lobby somebody is.
func (c *contestant) lobbyAbandoned(t *testing.T) {
	t.Helper()
	var end protocol.ArenaEnd
	read(t, c.until(t, protocol.TypeArenaClosed), &end)
	if end.Reason != "abandoned" || end.ArenaID != c.joined.ArenaID {
		t.Errorf("%s was told of the end of arena %s: %+v", c.id, c.joined.ArenaID, end)
	}
}

// openLobby makes an arena that has not begun, with its host at the one node and
// a player at the other.
func openLobby(t *testing.T, here, there string) (host, sitting *contestant) {
	t.Helper()
	host, sitting = stranger(t, here, "demo"), stranger(t, there, "demo")
	made := makeArena(t, here, host.Token, protocol.NewArena{
		Mode: "survival", Name: "Too early", Pace: "auto", Questions: protocol.ArenaQuestions{Count: 3},
	})
	for c, as := range map[*contestant]string{host: "host", sitting: "player"} {
		f := c.request(t, protocol.TypeArenaJoin, protocol.ArenaJoin{Code: made.Code, As: as})
		if err := json.Unmarshal(f.Data, &c.joined); err != nil || f.Type != protocol.TypeArenaJoined {
			t.Fatalf("joining was answered with %s", f.Raw)
		}
	}
	return host, sitting
}
