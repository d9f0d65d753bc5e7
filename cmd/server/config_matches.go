package main

import (
	"time"

	"laststand/internal/overload"
)

// matchLimits limits matches per player and per address (the IP address of a client; IPv6: its
// /64). 0 means no limit. A key is also the name of its rule. defaultMatchLimits has the
// defaults.
type matchLimits struct {
	// Maximum number of duels per player and hour that the player leaves before the first question closes. Above the limit, duel.join fails with rate_limited. All nodes share this limit.
	EarlyForfeitsPerHourPerPlayer int `yaml:"early_forfeits_per_hour_per_player" range:"0..1000000"`
	// The same limit for all players at one address together. Above the limit, only players who left such a duel within the last minutes are refused. All nodes share this limit.
	EarlyForfeitsPerHourPerAddress int `yaml:"early_forfeits_per_hour_per_address" range:"0..1000000"`
	// Maximum number of duels and arenas that a player joins per day. Above the limit, duel.join and arena.join fail with rate_limited. Each node counts separately.
	MatchesPerDayPerPlayer int `yaml:"matches_per_day_per_player" range:"0..1000000"`
	// The same limit for all players at one address together. Above the limit, only players who have used more than a twentieth of matches_per_day_per_player are refused. All nodes share this limit.
	MatchesPerDayPerAddress int `yaml:"matches_per_day_per_address" range:"0..1000000"`
}

func defaultMatchLimits() matchLimits {
	return matchLimits{
		EarlyForfeitsPerHourPerPlayer: 10, EarlyForfeitsPerHourPerAddress: 200,
		MatchesPerDayPerPlayer: 2000, MatchesPerDayPerAddress: 100_000,
	}
}

// freeMatchesDivisor divides the daily limit per player. The quotient is how many matches a
// player may join per day although the address has used up its limit.
const freeMatchesDivisor = 20

// earlyForfeitLimits returns the limits on duels that players leave before the first question
// closes. Such forfeits are rare, so every node counts them in the store that all nodes share.
func (n *node) earlyForfeitLimits() *overload.ActionLimit {
	limits := n.config.Limits.matchLimits
	clusterRule := func(name, owner string, quota int) *overload.Rule {
		return n.limiter.NewRule(overload.RuleConfig{
			Name: name, Subject: "duels left before their first question was closed, " + owner, Limit: quota, Per: time.Hour, ClusterWide: true,
		})
	}
	return &overload.ActionLimit{
		PerPlayer:  clusterRule("early_forfeits_per_hour_per_player", "by this player", limits.EarlyForfeitsPerHourPerPlayer),
		PerAddress: clusterRule("early_forfeits_per_hour_per_address", "from this address", limits.EarlyForfeitsPerHourPerAddress),
	}
}

// matchesPerDayLimits returns the limits on duels and arenas that players join. The limit per
// player is local to each node, so that joining costs one more round trip to Redis and not two.
func (n *node) matchesPerDayLimits() *overload.ActionLimit {
	limits, day := n.config.Limits.matchLimits, 24*time.Hour
	return &overload.ActionLimit{
		PerPlayer: n.limiter.NewRule(overload.RuleConfig{
			Name: "matches_per_day_per_player", Subject: "matches of this player", Limit: limits.MatchesPerDayPerPlayer, Per: day,
		}),
		PerAddress: n.limiter.NewRule(overload.RuleConfig{
			Name: "matches_per_day_per_address", Subject: "matches from this address", Limit: limits.MatchesPerDayPerAddress, Per: day, ClusterWide: true,
		}),
		AddressGrace: limits.MatchesPerDayPerPlayer / freeMatchesDivisor,
	}
}
