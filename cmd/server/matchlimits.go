package main

import (
	"time"

	"laststand/internal/overload"
)

// freeMatchesDivisor divides the daily limit per player. The quotient is how many matches a
// player may join per day although the address has used up its limit.
const freeMatchesDivisor = 20

// earlyForfeitLimits returns the limits on duels that players leave before the first question
// closes. Such forfeits are rare, so every node counts them in the store that all nodes share.
func (l *limits) earlyForfeitLimits() *overload.ActionLimit {
	limits := l.config.Limits.MatchLimits
	clusterRule := func(name, owner string, quota int) *overload.Rule {
		return l.NewRule(overload.RuleConfig{
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
func (l *limits) matchesPerDayLimits() *overload.ActionLimit {
	limits, day := l.config.Limits.MatchLimits, 24*time.Hour
	return &overload.ActionLimit{
		PerPlayer: l.NewRule(overload.RuleConfig{
			Name: "matches_per_day_per_player", Subject: "matches of this player", Limit: limits.MatchesPerDayPerPlayer, Per: day,
		}),
		PerAddress: l.NewRule(overload.RuleConfig{
			Name: "matches_per_day_per_address", Subject: "matches from this address", Limit: limits.MatchesPerDayPerAddress, Per: day, ClusterWide: true,
		}),
		AddressGrace: limits.MatchesPerDayPerPlayer / freeMatchesDivisor,
	}
}
