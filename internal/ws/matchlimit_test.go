package ws

import (
	"context"
	"testing"
	"time"

	"laststand/internal/limit"
	"laststand/internal/lobby"
	"laststand/internal/match"
	"laststand/internal/protocol"
)

func matchesADay(each, from int) func(*Config, *lobby.Duel) {
	return func(c *Config, _ *lobby.Duel) {
		rules := limit.New(limit.Config{})
		c.Limits.Matches = &limit.ActionLimit{
			PerPlayer:  rules.Rule(limit.RuleConfig{Name: "each", Subject: "matches", Limit: each, Per: 24 * time.Hour}),
			PerAddress: rules.Rule(limit.RuleConfig{Name: "from", Subject: "matches", Limit: from, Per: 24 * time.Hour}),
		}
	}
}

// A duel counts for both players, even if one of them disconnects before it starts.
func TestDuelsCountForDisconnectedPlayers(t *testing.T) {
	t.Parallel()
	n := startNode(t, shortDuels, matchesADay(1, 100))
	a, b := n.enter("ada"), n.enter("bob")
	for _, c := range []*client{a, b} {
		c.ask(protocol.TypeDuelJoin, protocol.Empty{})
		c.reply(protocol.TypeDuelQueued)
	}
	a.until(protocol.TypeMatchFound)
	a.disconnect()
	n.eventually("she is gone", func() bool { return n.find("demo", "ada") == nil })
	found := b.until(protocol.TypeMatchFound).Match
	b.ask(protocol.TypeMatchLeave, protocol.MatchLeave{Match: found})
	b.until(protocol.TypeMatchOver)
	for _, c := range []*client{n.enter("ada"), b} {
		c.ask(protocol.TypeDuelJoin, protocol.Empty{})
		c.checkError(c.untilReply(), protocol.CodeRateLimited)
	}
}

// An arena joined as a player counts for the player and for the address. Watching, or a
// refused join, does not count.
func TestArenasCountWhenTheyAreJoined(t *testing.T) {
	t.Parallel()
	n := startNode(t, matchesADay(2, 3))
	join := func(c *client, as match.Role, want string) {
		t.Helper()
		n.arenas.mu.Lock()
		n.arenas.joined.As = string(as)
		n.arenas.mu.Unlock()
		c.ask(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: "123456", As: string(as)})
		if f := c.untilReply(); f.Type != want {
			t.Fatalf("joining as %q was answered with %s", as, f.raw)
		}
	}
	ada, bob := n.enter("ada"), n.enter("bob")
	n.arenas.set(func(context.Context) error { return protocol.Errorf(protocol.CodeArenaFull, "no") })
	join(ada, match.AsPlayer, protocol.TypeError)
	n.arenas.set(nil)
	for range 2 {
		join(ada, match.AsSpectator, protocol.TypeArenaJoined)
		join(ada, match.AsPlayer, protocol.TypeArenaJoined)
	}
	join(ada, match.AsPlayer, protocol.TypeError)
	join(ada, match.AsSpectator, protocol.TypeArenaJoined)
	join(bob, match.AsPlayer, protocol.TypeArenaJoined)
	join(bob, match.AsPlayer, protocol.TypeError) // the address has reached its own limit
}
