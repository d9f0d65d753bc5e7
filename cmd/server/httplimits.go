package main

import (
	"time"

	"laststand/internal/config"
	"laststand/internal/httpapi"
	"laststand/internal/overload"
	"laststand/internal/redisstore"
	"laststand/internal/redisx"
)

// limits makes the limits of the node from its configuration.
type limits struct {
	*overload.Limiter
	config *config.Config
}

// newLimits returns the limits of the node. A node with an embedded Redis is the only node, so
// they need no shared store.
func (n *node) newLimits() *limits {
	c := overload.LimiterConfig{IsDryRun: n.config.Limits.DryRun.Includes, Registry: n.registry}
	if n.redis.Kind != redisx.KindEmbedded {
		c.Store = redisstore.NewLimits(n.redis.Pipelined, n.now)
	}
	return &limits{overload.NewLimiter(c), &n.config}
}

// maxBehavioursPerRequest is the maximum number of behaviours in one HTTP request. The burst of
// the limit is at least as large; a smaller burst would refuse some requests forever.
const maxBehavioursPerRequest = 1000

// guestBurstMinutes times the limit of guest requests per minute is the burst per address. A
// whole school connects when a lesson starts.
const guestBurstMinutes = 5

// arenaGuestBurst returns the burst of new guests with arena codes per address: max_players of the
// game with the largest arenas, but at most connections_per_address. A larger burst would let a
// few arenas use up the limit per day. The burst is at least the limit per minute.
func (l *limits) arenaGuestBurst() int {
	burst := 0
	for _, g := range l.config.Games {
		burst = max(burst, g.Arena.MaxPlayers)
	}
	if perAddress := l.config.Limits.ConnectionsPerAddress; perAddress > 0 {
		burst = int(min(int64(burst), perAddress))
	}
	return max(burst, l.config.Limits.ArenaGuestsPerMinutePerAddress)
}

// httpLimits returns the limits of HTTP requests. All nodes share a limit if it protects a secret,
// or if a request costs money or long-lived memory.
func (l *limits) httpLimits() httpapi.Limits {
	limits := l.config.Limits.RequestLimits
	clusterRule := func(name, subject string, quota int, interval time.Duration) *overload.Rule {
		return l.NewRule(overload.RuleConfig{Name: name, Subject: subject, Limit: quota, Per: interval, ClusterWide: true})
	}
	return httpapi.Limits{
		GuestCalls: l.NewRule(overload.RuleConfig{
			Name: "guest_requests_per_minute_per_address", Subject: "calls for players from this address",
			Limit: limits.GuestRequestsPerMinutePerAddress, Per: time.Minute, Burst: guestBurstMinutes * limits.GuestRequestsPerMinutePerAddress,
		}),
		NewGuests:       clusterRule("guests_per_minute_per_address", "new players from this address", limits.GuestsPerMinutePerAddress, time.Minute),
		NewGuestsPerDay: clusterRule("guests_per_day_per_address", "new players from this address", limits.GuestsPerDayPerAddress, 24*time.Hour),
		GuestsWithCode: l.NewRule(overload.RuleConfig{
			Name: "arena_guests_per_minute_per_address", Subject: "new players from this address for arenas", ClusterWide: true,
			Limit: limits.ArenaGuestsPerMinutePerAddress, Per: time.Minute, Burst: l.arenaGuestBurst(),
		}),
		GuestsPerArena:   clusterRule("guests_per_minute_per_arena", "new players for this arena", limits.GuestsPerMinutePerArena, time.Minute),
		ArenaCodes:       l.codeAttemptLimits(),
		ArenasPerHost:    clusterRule("arenas_per_hour_per_host", "arenas of one host", limits.ArenasPerHourPerHost, time.Hour),
		ArenasPerAddress: clusterRule("arenas_per_hour_per_address", "arenas from this address", limits.ArenasPerHourPerAddress, time.Hour),
		Changes:          clusterRule("account_changes_per_hour_per_player", "changes of name and account", limits.AccountChangesPerHourPerPlayer, time.Hour),
		Erasures: l.NewRule(overload.RuleConfig{
			Name: "erasures_per_minute_per_address", Subject: "players from this address who erase themselves", ClusterWide: true,
			Limit: limits.ErasuresPerMinutePerAddress, Per: time.Minute, Burst: 6 * limits.ErasuresPerMinutePerAddress, // all players of a class may erase themselves at the same time
		}),
		Behaviours: l.NewRule(overload.RuleConfig{
			Name: "behaviours_per_second_per_service", Subject: "behaviours of one service", ClusterWide: true,
			Limit: limits.BehavioursPerSecondPerService, Per: time.Second, Burst: max(limits.BehavioursPerSecondPerService, maxBehavioursPerRequest),
		}),
		Nicknames: l.NewRule(overload.RuleConfig{
			Name: "nickname_lookups_per_minute_per_address", Subject: "looks at nicknames from this address",
			Limit: limits.NicknameLookupsPerMinutePerAddress, Per: time.Minute,
		}),
		Reads: l.NewRule(overload.RuleConfig{
			Name: "reads_per_second_per_address", Subject: "reads from this address",
			Limit: limits.ReadsPerSecondPerAddress, Per: time.Second, Burst: 10 * limits.ReadsPerSecondPerAddress, // a whole school reads the leaderboard after a match
		}),
		Tasks: l.NewRule(overload.RuleConfig{
			Name: "task_requests_per_second_per_service", Subject: "calls about tasks of one service",
			Limit: limits.TaskRequestsPerSecondPerService, Per: time.Second,
		}),
	}
}

// The limits of code attempts that have no configuration key.
const (
	codeAttemptsPerPlayerPerHour = 2
	refusedAttemptsFactor        = 10 // the limit of refused attempts, relative to code_attempts_per_hour_per_address
)

// codeAttemptLimits returns the limit on wrong arena codes: a number per hour and address. Above
// it, known players at that address may together try half as many more codes, and each player a
// few. Each node counts refused attempts separately, which needs no request to Redis.
func (l *limits) codeAttemptLimits() *overload.FailureLimiter {
	quota := l.config.Limits.CodeAttemptsPerHourPerAddress
	clusterRule := func(name, subject string, quota int) *overload.Rule {
		return l.NewRule(overload.RuleConfig{Name: name, Subject: subject, Limit: quota, Per: time.Hour, ClusterWide: true})
	}
	limiter := &overload.FailureLimiter{PerAddress: clusterRule("code_attempts_per_hour_per_address", "wrong codes of arenas from this address", quota)}
	if quota > 0 {
		limiter.RefusalsPerAddress = l.NewRule(overload.RuleConfig{Name: config.RuleCodeAttemptsRefused, Subject: "refused codes from this address", Limit: refusedAttemptsFactor * quota, Per: time.Hour})
		limiter.PlayersPerAddress = clusterRule(config.RuleCodeAttemptsByPlayers, "wrong codes of players from this address", max(quota/2, 1))
		limiter.PerPlayer = clusterRule(config.RuleCodeAttemptsPerPlayer, "wrong codes of this player", codeAttemptsPerPlayerPerHour)
	}
	return limiter
}
