package main

import (
	"time"

	"laststand/internal/httpapi"
	"laststand/internal/limit"
	"laststand/internal/limit/redislimit"
	"laststand/internal/redisx"
)

// newLimiter returns the limiter of the node. A node with an embedded Redis is the only node, so
// its limiter needs no shared store.
func (n *node) newLimiter() *limit.Limiter {
	c := limit.Config{DryRun: n.config.Limits.DryRun.includes, Registry: n.registry}
	if n.redis.Kind != redisx.KindEmbedded {
		c.Store = redislimit.New(n.redis.Pipelined, n.now)
	}
	return limit.New(c)
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
func (c *config) arenaGuestBurst() int {
	limit := 0
	for _, g := range c.Games {
		limit = max(limit, g.Arena.MaxPlayers)
	}
	if perAddress := c.Limits.ConnectionsPerAddress; perAddress > 0 {
		limit = int(min(int64(limit), perAddress))
	}
	return max(limit, c.Limits.ArenaGuestsPerMinutePerAddress)
}

// httpLimits returns the limits of HTTP requests. All nodes share a limit if it protects a secret,
// or if a request costs money or long-lived memory.
func (n *node) httpLimits() httpapi.Limits {
	l := n.config.Limits.requestLimits
	shared := func(name, subject string, quota int, interval time.Duration) *limit.Rule {
		return n.limiter.Rule(limit.RuleConfig{Name: name, Subject: subject, Limit: quota, Per: interval, ClusterWide: true})
	}
	return httpapi.Limits{
		GuestCalls: n.limiter.Rule(limit.RuleConfig{
			Name: "guest_requests_per_minute_per_address", Subject: "calls for players from this address",
			Limit: l.GuestRequestsPerMinutePerAddress, Per: time.Minute, Burst: guestBurstMinutes * l.GuestRequestsPerMinutePerAddress,
		}),
		NewGuests:       shared("guests_per_minute_per_address", "new players from this address", l.GuestsPerMinutePerAddress, time.Minute),
		NewGuestsPerDay: shared("guests_per_day_per_address", "new players from this address", l.GuestsPerDayPerAddress, 24*time.Hour),
		GuestsWithCode: n.limiter.Rule(limit.RuleConfig{
			Name: "arena_guests_per_minute_per_address", Subject: "new players from this address for arenas", ClusterWide: true,
			Limit: l.ArenaGuestsPerMinutePerAddress, Per: time.Minute, Burst: n.config.arenaGuestBurst(),
		}),
		GuestsPerArena:   shared("guests_per_minute_per_arena", "new players for this arena", l.GuestsPerMinutePerArena, time.Minute),
		ArenaCodes:       n.codeAttemptLimits(),
		ArenasPerHost:    shared("arenas_per_hour_per_host", "arenas of one host", l.ArenasPerHourPerHost, time.Hour),
		ArenasPerAddress: shared("arenas_per_hour_per_address", "arenas from this address", l.ArenasPerHourPerAddress, time.Hour),
		Changes:          shared("account_changes_per_hour_per_player", "changes of name and account", l.AccountChangesPerHourPerPlayer, time.Hour),
		Erasures: n.limiter.Rule(limit.RuleConfig{
			Name: "erasures_per_minute_per_address", Subject: "players from this address who erase themselves", ClusterWide: true,
			Limit: l.ErasuresPerMinutePerAddress, Per: time.Minute, Burst: 6 * l.ErasuresPerMinutePerAddress, // all players of a class may erase themselves at the same time
		}),
		Behaviours: n.limiter.Rule(limit.RuleConfig{
			Name: "behaviours_per_second_per_service", Subject: "behaviours of one service", ClusterWide: true,
			Limit: l.BehavioursPerSecondPerService, Per: time.Second, Burst: max(l.BehavioursPerSecondPerService, maxBehavioursPerRequest),
		}),
		Nicknames: n.limiter.Rule(limit.RuleConfig{
			Name: "nickname_lookups_per_minute_per_address", Subject: "looks at nicknames from this address",
			Limit: l.NicknameLookupsPerMinutePerAddress, Per: time.Minute,
		}),
		Reads: n.limiter.Rule(limit.RuleConfig{
			Name: "reads_per_second_per_address", Subject: "reads from this address",
			Limit: l.ReadsPerSecondPerAddress, Per: time.Second, Burst: 10 * l.ReadsPerSecondPerAddress, // a whole school reads the leaderboard after a match
		}),
		Tasks: n.limiter.Rule(limit.RuleConfig{
			Name: "task_requests_per_second_per_service", Subject: "calls about tasks of one service",
			Limit: l.TaskRequestsPerSecondPerService, Per: time.Second,
		}),
	}
}

// Names of the rules of code attempts that have no configuration key. Their limits depend on
// code_attempts_per_hour_per_address. The first two rules count wrong codes of known players
// after their address has reached its limit. The last rule counts refused attempts.
const (
	codeAttemptsByPlayers = "code_attempts_by_players_per_hour_per_address"
	codeAttemptsPerPlayer = "code_attempts_per_hour_per_player"
	codeAttemptsRefused   = "code_attempts_refused_per_hour_per_address"

	attemptsPerPlayer    = 2
	refusedAttemptsTimes = 10 // the limit of refused attempts, relative to code_attempts_per_hour_per_address
)

// codeAttemptLimits returns the limit on wrong arena codes: a number per hour and address. Above
// it, known players at that address may together try half as many more codes, and each player a
// few. Each node counts refused attempts separately, which needs no request to Redis.
func (n *node) codeAttemptLimits() *limit.FailureLimiter {
	quota := n.config.Limits.CodeAttemptsPerHourPerAddress
	rule := func(name, subject string, quota int) *limit.Rule {
		return n.limiter.Rule(limit.RuleConfig{Name: name, Subject: subject, Limit: quota, Per: time.Hour, ClusterWide: true})
	}
	g := &limit.FailureLimiter{PerAddress: rule("code_attempts_per_hour_per_address", "wrong codes of arenas from this address", quota)}
	if quota > 0 {
		g.Refused = n.limiter.Rule(limit.RuleConfig{Name: codeAttemptsRefused, Subject: "refused codes from this address", Limit: refusedAttemptsTimes * quota, Per: time.Hour})
		g.ByPlayers = rule(codeAttemptsByPlayers, "wrong codes of players from this address", max(quota/2, 1))
		g.PerPlayer = rule(codeAttemptsPerPlayer, "wrong codes of this player", attemptsPerPlayer)
	}
	return g
}
