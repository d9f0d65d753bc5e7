package main

import (
	"time"

	"laststand/internal/limit"
)

// matchLimits bounds the matches of a player and of an address. 0 means no limit. A key is
// also the name of its rule.
type matchLimits struct {
	// Duels that a player leaves before the first question closes. Beyond it duel.join is rate_limited. Holds over all nodes.
	EarlyForfeitsPerHourPerPlayer int `yaml:"early_forfeits_per_hour_per_player" range:"0..1000000"`
	// The same for all players of an address. Beyond it only players who left such a duel within the last minutes are refused. Holds over all nodes.
	EarlyForfeitsPerHourPerAddress int `yaml:"early_forfeits_per_hour_per_address" range:"0..1000000"`
	// Duels and arenas that a player joins. Beyond it duel.join and arena.join are rate_limited. Holds at each node.
	MatchesPerDayPerPlayer int `yaml:"matches_per_day_per_player" range:"0..1000000"`
	// The same for all players of an address. Beyond it only players who used more than a twentieth of their own limit are refused. Holds over all nodes.
	MatchesPerDayPerAddress int `yaml:"matches_per_day_per_address" range:"0..1000000"`
}

func defaultMatchLimits() matchLimits {
	return matchLimits{
		EarlyForfeitsPerHourPerPlayer: 10, EarlyForfeitsPerHourPerAddress: 200,
		MatchesPerDayPerPlayer: 2000, MatchesPerDayPerAddress: 100_000,
	}
}

// freeMatchesDivisor divides a player's daily limit. The player may join that many matches
// after the address has used up its own limit.
const freeMatchesDivisor = 20

// earlyForfeitLimits limits the duels that players leave before a question closes. They are
// rare, so every node counts them in the shared store.
func (n *node) earlyForfeitLimits() *limit.ActionLimit {
	l := n.config.Limits.matchLimits
	rule := func(name, owner string, quota int) *limit.Rule {
		return n.limiter.Rule(limit.RuleConfig{
			Name: name, Subject: "duels left before their first question was closed, " + owner, Limit: quota, Per: time.Hour, ClusterWide: true,
		})
	}
	return &limit.ActionLimit{
		PerPlayer:  rule("early_forfeits_per_hour_per_player", "by this player", l.EarlyForfeitsPerHourPerPlayer),
		PerAddress: rule("early_forfeits_per_hour_per_address", "from this address", l.EarlyForfeitsPerHourPerAddress),
	}
}

// matchesPerDayLimits limits the duels and arenas that players join. Each node counts the
// matches of a player itself, so that joining costs one more round trip and not two.
func (n *node) matchesPerDayLimits() *limit.ActionLimit {
	l, day := n.config.Limits.matchLimits, 24*time.Hour
	return &limit.ActionLimit{
		PerPlayer: n.limiter.Rule(limit.RuleConfig{
			Name: "matches_per_day_per_player", Subject: "matches of this player", Limit: l.MatchesPerDayPerPlayer, Per: day,
		}),
		PerAddress: n.limiter.Rule(limit.RuleConfig{
			Name: "matches_per_day_per_address", Subject: "matches from this address", Limit: l.MatchesPerDayPerAddress, Per: day, ClusterWide: true,
		}),
		Free: l.MatchesPerDayPerPlayer / freeMatchesDivisor,
	}
}
