package main

import (
	"time"

	"laststand/internal/httpapi"
	"laststand/internal/limit"
	"laststand/internal/limit/redislimit"
	"laststand/internal/redisx"
)

// newLimiter returns the limiter of the node. A node with the embedded Redis is the only node
// and needs no shared store.
func (n *node) newLimiter() *limit.Limiter {
	c := limit.Config{DryRun: n.config.Limits.DryRun.includes, Registry: n.registry}
	if n.redis.Kind != redisx.KindEmbedded {
		c.Store = redislimit.New(n.redis.Pipelined, n.now)
	}
	return limit.New(c)
}

// maxBehavioursPerRequest is the largest number of behaviours in a request. A smaller burst
// would refuse some requests forever.
const maxBehavioursPerRequest = 1000

// guestBurstMinutes is how many minutes of guest requests an address may use at once, because
// a whole school connects when a lesson begins.
const guestBurstMinutes = 5

// arenaGuestBurst returns how many new guests with arena codes may come from an address at
// once. That is the largest arena of any game, but at most the connections of an address. A
// larger burst would let a few arenas use up the limit of the day.
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

// httpLimits returns the limits of HTTP. Limits hold over all nodes if they guard a secret, or
// if a request costs money or long-lived memory.
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
			Limit: l.ErasuresPerMinutePerAddress, Per: time.Minute, Burst: 6 * l.ErasuresPerMinutePerAddress, // a class erases its players at once
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
			Limit: l.ReadsPerSecondPerAddress, Per: time.Second, Burst: 10 * l.ReadsPerSecondPerAddress, // a school reads the leaderboard at once after a match
		}),
		Tasks: n.limiter.Rule(limit.RuleConfig{
			Name: "task_requests_per_second_per_service", Subject: "calls about tasks of one service",
			Limit: l.TaskRequestsPerSecondPerService, Per: time.Second,
		}),
	}
}

// Rules of code attempts that have no configuration key: their limits follow
// code_attempts_per_hour_per_address. The first two count attempts of players
// after their address has used up its own; the last counts refused attempts.
const (
	codeAttemptsByPlayers = "code_attempts_by_players_per_hour_per_address"
	codeAttemptsPerPlayer = "code_attempts_per_hour_per_player"
	codeAttemptsRefused   = "code_attempts_refused_per_hour_per_address"

	attemptsPerPlayer    = 2  // an hour
	refusedAttemptsTimes = 10 // times code_attempts_per_hour_per_address
)

// codeAttemptLimits bounds guesses of arena codes: some per hour and address, and then half as
// many of known players, who have few each. Each node counts refused attempts itself, which
// costs no request to Redis.
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
