package ws

import (
	"context"
	"testing"
	"time"

	"laststand/internal/lobby"
	"laststand/internal/match"
	"laststand/internal/overload"
	"laststand/internal/protocol"
)

func withMatchesPerDay(perPlayer, perAddress int) func(*Config, *lobby.DuelSettings) {
	return func(c *Config, _ *lobby.DuelSettings) {
		rules := overload.NewLimiter(overload.LimiterConfig{})
		c.Limits.Matches = &overload.ActionLimit{
			PerPlayer:  rules.NewRule(overload.RuleConfig{Name: "each", Subject: "matches", Limit: perPlayer, Per: 24 * time.Hour}),
			PerAddress: rules.NewRule(overload.RuleConfig{Name: "from", Subject: "matches", Limit: perAddress, Per: 24 * time.Hour}),
		}
	}
}

// A duel counts for both players, even if one of them disconnects before it starts.
func TestDuelsCountForDisconnectedPlayers(t *testing.T) {
	n := startParallel(t, shortDuels, withMatchesPerDay(1, 100))
	ada, bob := n.connectPlayer("ada"), n.connectPlayer("bob")
	for _, c := range []*client{ada, bob} {
		c.request(protocol.TypeDuelJoin, protocol.Empty{}, protocol.TypeDuelQueued)
	}
	ada.readUntil(protocol.TypeMatchFound)
	ada.disconnect()
	n.eventually("ada's session has ended", func() bool { return n.presenceOf("demo", "ada") == nil })
	matchID := bob.readUntil(protocol.TypeMatchFound).Match
	bob.sendRequest(protocol.TypeMatchLeave, protocol.MatchLeave{Match: matchID})
	bob.readUntil(protocol.TypeMatchOver)
	for _, c := range []*client{n.connectPlayer("ada"), bob} {
		c.sendRequest(protocol.TypeDuelJoin, protocol.Empty{})
		c.checkError(c.readUntilReply(), protocol.CodeRateLimited)
	}
}

// An arena joined as a player counts for the player and for the address. Watching, or a
// refused join, does not count.
func TestArenasCountWhenTheyAreJoined(t *testing.T) {
	n := startParallel(t, withMatchesPerDay(2, 3))
	joinExpect := func(c *client, role match.Role, want string) {
		t.Helper()
		n.arenas.mu.Lock()
		n.arenas.joined.As = string(role)
		n.arenas.mu.Unlock()
		c.sendRequest(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: "123456", As: string(role)})
		if f := c.readUntilReply(); f.Type != want {
			t.Fatalf("joining as %q was answered with %s", role, f.raw)
		}
	}
	ada, bob := n.connectPlayer("ada"), n.connectPlayer("bob")
	n.arenas.setResult(func(context.Context) error { return protocol.Errorf(protocol.CodeArenaFull, "no") })
	joinExpect(ada, match.PlayerRole, protocol.TypeError)
	n.arenas.setResult(nil)
	for range 2 {
		joinExpect(ada, match.SpectatorRole, protocol.TypeArenaJoined)
		joinExpect(ada, match.PlayerRole, protocol.TypeArenaJoined)
	}
	joinExpect(ada, match.PlayerRole, protocol.TypeError)
	joinExpect(ada, match.SpectatorRole, protocol.TypeArenaJoined)
	joinExpect(bob, match.PlayerRole, protocol.TypeArenaJoined)
	joinExpect(bob, match.PlayerRole, protocol.TypeError) // the address has reached its own limit
}
