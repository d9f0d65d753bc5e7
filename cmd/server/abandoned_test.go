package main

import (
	"encoding/json"
	"testing"

	"github.com/redis/go-redis/v9"

	"laststand/internal/protocol"
	"laststand/internal/trial"
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
	for how, empty := range map[string]func(*testing.T, *trial.Server){
		"flushed": func(t *testing.T, s *trial.Server) {
			c := redis.NewClient(&redis.Options{Addr: s.Addr})
			defer c.Close()
			if err := c.FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
		},
		"restarted": func(_ *testing.T, s *trial.Server) {
			s.Kill()
			s.Restart()
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			server := trial.Redis(t)
			h := newHouse(t, server.URL, duelsOf(abandonDuels))
			here, there := h.node(t), h.node(t)
			duels := map[string]duelling{}
			for game := range abandonDuels {
				duels[game] = meet(t, stranger(t, here.url, game), stranger(t, there.url, game)).begun(t)
			}
			duels["reveal"].each(func(c *contestant) { c.until(t, protocol.TypeQuestion) })
			duels["reveal"].each(func(c *contestant) { c.reply(t, true) })
			duels["reveal"].each(func(c *contestant) { c.until(t, protocol.TypeQuestionClosed) })
			duels["demo"].each(func(c *contestant) { c.until(t, protocol.TypeQuestion) })
			duels["demo"][0].reply(t, true)
			lobby := openLobby(t, here.url, there.url)
			t.Cleanup(func() { t.Logf("HERE %s\nTHERE %s", here.log, there.log) })

			empty(t, server)
			for game, d := range duels {
				d.each(func(c *contestant) { c.abandoned(t) })
				unsettled(t, here.url, game, d[:]...)
			}
			for _, c := range lobby {
				var end protocol.ArenaEnd
				read(t, c.until(t, protocol.TypeArenaClosed), &end)
				if end.Reason != "abandoned" {
					t.Errorf("%s was told of the end of the arena as %+v", c.id, end)
				}
			}
			for _, n := range []*running{here, there} {
				if counted := metric(t, n.ops, "laststand_match_over_total", `reason="abandoned"`); counted != len(duels)+1 {
					t.Errorf("%d abandoned matches are counted, want %d", counted, len(duels)+1)
				}
			}
			for game, d := range duels {
				duels[game] = meet(t, d[0].again(), d[1].again()).begun(t)
			}
			playOn(t, duels["demo"][0], duels["demo"][1])
			sameFeed(t, duels["demo"][0], duels["demo"][1])
			settledOnce(t, here.url, "demo", duels["demo"][0].over)
		})
	}
}

// abandoned waits until the match ends as such, with the next number.
func (c *contestant) abandoned(t *testing.T) {
	t.Helper()
	c.await(t, "the end", func(f player.Frame) bool { return f.Type == protocol.TypeMatchOver })
	if c.over.Reason != "abandoned" || len(c.over.Standings) != 0 || c.over.Winner != "" {
		t.Errorf("%s was told %+v", c.id, c.over)
	}
}

// openLobby makes an arena with its host at the one node and a player at the
// other, which has not begun.
func openLobby(t *testing.T, here, there string) []*contestant {
	t.Helper()
	host, guest := stranger(t, here, "demo"), stranger(t, there, "demo")
	made := makeArena(t, here, host.Token, protocol.NewArena{
		Mode: "survival", Name: "Too early", Pace: "auto", Questions: protocol.ArenaQuestions{Count: 3},
	})
	for c, as := range map[*contestant]string{host: "host", guest: "player"} {
		f := c.request(t, protocol.TypeArenaJoin, protocol.ArenaJoin{Code: made.Code, As: as})
		if err := json.Unmarshal(f.Data, &c.joined); err != nil || f.Type != protocol.TypeArenaJoined {
			t.Fatalf("joining was answered with %s", f.Raw)
		}
	}
	return []*contestant{host, guest}
}
