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

func matchesPerDay(each, from int) func(*Config, *lobby.DuelSettings) {
	return func(c *Config, _ *lobby.DuelSettings) {
		rules := limit.New(limit.Config{})
		c.Limits.Matches = &limit.ActionLimit{
			PerPlayer:  rules.NewRule(limit.RuleConfig{Name: "each", Subject: "matches", Limit: each, Per: 24 * time.Hour}),
			PerAddress: rules.NewRule(limit.RuleConfig{Name: "from", Subject: "matches", Limit: from, Per: 24 * time.Hour}),
		}
	}
}

// A duel counts for both players, even if one of them disconnects before it starts.
func TestDuelsCountForDisconnectedPlayers(t *testing.T) {
	t.Parallel()
	n := startNode(t, shortDuels, matchesPerDay(1, 100))
	a, b := n.connectPlayer("ada"), n.connectPlayer("bob")
	for _, c := range []*client{a, b} {
		c.sendRequest(protocol.TypeDuelJoin, protocol.Empty{})
		c.expectReply(protocol.TypeDuelQueued)
	}
	a.readUntil(protocol.TypeMatchFound)
	a.disconnect()
	n.eventually("ada's session has ended", func() bool { return n.sessionOf("demo", "ada") == nil })
	found := b.readUntil(protocol.TypeMatchFound).Match
	b.sendRequest(protocol.TypeMatchLeave, protocol.MatchLeave{Match: found})
	b.readUntil(protocol.TypeMatchOver)
	for _, c := range []*client{n.connectPlayer("ada"), b} {
		c.sendRequest(protocol.TypeDuelJoin, protocol.Empty{})
		c.checkError(c.readUntilReply(), protocol.CodeRateLimited)
	}
}

// An arena joined as a player counts for the player and for the address. Watching, or a
// refused join, does not count.
func TestArenasCountWhenTheyAreJoined(t *testing.T) {
	t.Parallel()
	n := startNode(t, matchesPerDay(2, 3))
	join := func(c *client, as match.Role, want string) {
		t.Helper()
		n.arenas.mu.Lock()
		n.arenas.joined.As = string(as)
		n.arenas.mu.Unlock()
		c.sendRequest(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: "123456", As: string(as)})
		if f := c.readUntilReply(); f.Type != want {
			t.Fatalf("joining as %q was answered with %s", as, f.raw)
		}
	}
	ada, bob := n.connectPlayer("ada"), n.connectPlayer("bob")
	n.arenas.set(func(context.Context) error { return protocol.Errorf(protocol.CodeArenaFull, "no") })
	join(ada, match.PlayerRole, protocol.TypeError)
	n.arenas.set(nil)
	for range 2 {
		join(ada, match.SpectatorRole, protocol.TypeArenaJoined)
		join(ada, match.PlayerRole, protocol.TypeArenaJoined)
	}
	join(ada, match.PlayerRole, protocol.TypeError)
	join(ada, match.SpectatorRole, protocol.TypeArenaJoined)
	join(bob, match.PlayerRole, protocol.TypeArenaJoined)
	join(bob, match.PlayerRole, protocol.TypeError) // the address has reached its own limit
}
