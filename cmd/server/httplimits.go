package main

import (
	"time"

	"laststand/internal/config"
	"laststand/internal/httpapi"
	"laststand/internal/overload"
)

// limits makes the limits of the node from its configuration.
type limits struct {
	*overload.Limiter
	config *config.Config
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

// nodeRule returns a rule that each node counts separately. burst 0 means the quota.
func (l *limits) nodeRule(name, subject string, quota int, per time.Duration, burst int) *overload.Rule {
	return l.NewRule(overload.RuleConfig{Name: name, Subject: subject, Limit: quota, Per: per, Burst: burst})
}

// sharedRule returns a rule that all nodes share. burst 0 means the quota.
func (l *limits) sharedRule(name, subject string, quota int, per time.Duration, burst int) *overload.Rule {
	return l.NewRule(overload.RuleConfig{Name: name, Subject: subject, Limit: quota, Per: per, Burst: burst, ClusterWide: true})
}

// httpLimits returns the limits of HTTP requests. All nodes share a limit if it protects a secret,
// or if a request costs money or long-lived memory.
func (l *limits) httpLimits() httpapi.Limits {
	limits := l.config.Limits.RequestLimits
	guestBurst := guestBurstMinutes * limits.GuestRequestsPerMinutePerAddress
	erasureBurst := 6 * limits.ErasuresPerMinutePerAddress // all players of a class may erase themselves at the same time
	readBurst := 10 * limits.ReadsPerSecondPerAddress      // a whole school reads the leaderboard after a match
	behaviourBurst := max(limits.BehavioursPerSecondPerService, maxBehavioursPerRequest)
	return httpapi.Limits{
		GuestCalls:       l.nodeRule("guest_requests_per_minute_per_address", "calls for players from this address", limits.GuestRequestsPerMinutePerAddress, time.Minute, guestBurst),
		NewGuests:        l.sharedRule("guests_per_minute_per_address", "new players from this address", limits.GuestsPerMinutePerAddress, time.Minute, 0),
		NewGuestsPerDay:  l.sharedRule("guests_per_day_per_address", "new players from this address", limits.GuestsPerDayPerAddress, 24*time.Hour, 0),
		GuestsWithCode:   l.sharedRule("arena_guests_per_minute_per_address", "new players from this address for arenas", limits.ArenaGuestsPerMinutePerAddress, time.Minute, l.arenaGuestBurst()),
		GuestsPerArena:   l.sharedRule("guests_per_minute_per_arena", "new players for this arena", limits.GuestsPerMinutePerArena, time.Minute, 0),
		ArenaCodes:       l.codeAttemptLimits(),
		ArenasPerHost:    l.sharedRule("arenas_per_hour_per_host", "arenas of one host", limits.ArenasPerHourPerHost, time.Hour, 0),
		ArenasPerAddress: l.sharedRule("arenas_per_hour_per_address", "arenas from this address", limits.ArenasPerHourPerAddress, time.Hour, 0),
		Changes:          l.sharedRule("account_changes_per_hour_per_player", "changes of name and account", limits.AccountChangesPerHourPerPlayer, time.Hour, 0),
		Erasures:         l.sharedRule("erasures_per_minute_per_address", "players from this address who erase themselves", limits.ErasuresPerMinutePerAddress, time.Minute, erasureBurst),
		Behaviours:       l.sharedRule("behaviours_per_second_per_service", "behaviours of one service", limits.BehavioursPerSecondPerService, time.Second, behaviourBurst),
		Nicknames:        l.nodeRule("nickname_lookups_per_minute_per_address", "looks at nicknames from this address", limits.NicknameLookupsPerMinutePerAddress, time.Minute, 0),
		Reads:            l.nodeRule("reads_per_second_per_address", "reads from this address", limits.ReadsPerSecondPerAddress, time.Second, readBurst),
		Tasks:            l.nodeRule("task_requests_per_second_per_service", "calls about tasks of one service", limits.TaskRequestsPerSecondPerService, time.Second, 0),
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
	rules := overload.FailureLimiter{PerAddress: l.sharedRule("code_attempts_per_hour_per_address", "wrong codes of arenas from this address", quota, time.Hour, 0)}
	if quota > 0 {
		rules.RefusalsPerAddress = l.nodeRule(config.RuleCodeAttemptsRefused, "refused codes from this address", refusedAttemptsFactor*quota, time.Hour, 0)
		rules.PlayersPerAddress = l.sharedRule(config.RuleCodeAttemptsByPlayers, "wrong codes of players from this address", max(quota/2, 1), time.Hour, 0)
		rules.PerPlayer = l.sharedRule(config.RuleCodeAttemptsPerPlayer, "wrong codes of this player", codeAttemptsPerPlayerPerHour, time.Hour, 0)
	}
	return overload.NewFailureLimiter(rules)
}

// earlyForfeitLimits returns the limits on duels that players leave before the first question
// closes. Such forfeits are rare, so every node counts them in the store that all nodes share.
func (l *limits) earlyForfeitLimits() *overload.ActionLimit {
	const subject = "duels left before their first question was closed, "
	return &overload.ActionLimit{
		PerPlayer:  l.sharedRule("early_forfeits_per_hour_per_player", subject+"by this player", l.config.Limits.EarlyForfeitsPerHourPerPlayer, time.Hour, 0),
		PerAddress: l.sharedRule("early_forfeits_per_hour_per_address", subject+"from this address", l.config.Limits.EarlyForfeitsPerHourPerAddress, time.Hour, 0),
	}
}

// freeMatchesDivisor divides the daily limit per player. The quotient is how many matches a
// player may join per day although the address has used up its limit.
const freeMatchesDivisor = 20

// matchesPerDayLimits returns the limits on duels and arenas that players join. The limit per
// player is local to each node, so that joining costs one more round trip to Redis and not two.
func (l *limits) matchesPerDayLimits() *overload.ActionLimit {
	perPlayer := l.config.Limits.MatchesPerDayPerPlayer
	return &overload.ActionLimit{
		PerPlayer:    l.nodeRule("matches_per_day_per_player", "matches of this player", perPlayer, 24*time.Hour, 0),
		PerAddress:   l.sharedRule("matches_per_day_per_address", "matches from this address", l.config.Limits.MatchesPerDayPerAddress, 24*time.Hour, 0),
		AddressGrace: perPlayer / freeMatchesDivisor,
	}
}
