package config

import (
	"math"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"

	"laststand/internal/httpserver"
)

// RequestLimits limits HTTP requests per address, player and service, and attempts to join
// with an arena code, also over the websocket. An address is the IP address of a client (IPv6:
// its /64). Each limit is also its burst unless its comment says otherwise. 0 means no limit.
// A key is also the name of its rule in metrics and refusals.
type RequestLimits struct {
	// Maximum number of new guests without an arena code, per address and minute. Known devices do not count. All nodes share this limit.
	GuestsPerMinutePerAddress int `yaml:"guests_per_minute_per_address" default:"60" range:"0..1000000"`
	// Maximum number of new guests with the code of an arena that is not over, per address and minute. A burst may fill the largest arena. Guests above the limit count as guests without a code. All nodes share this limit.
	ArenaGuestsPerMinutePerAddress int `yaml:"arena_guests_per_minute_per_address" default:"300" range:"0..1000000"`
	// Maximum number of new guests with an arena code, per arena and minute, from all addresses together. Guests above the limit count as guests without a code. All nodes share this limit.
	GuestsPerMinutePerArena int `yaml:"guests_per_minute_per_arena" default:"3000" range:"0..1000000"`
	// Maximum number of new guests per address and day, with and without an arena code. The default grows with the two limits per address and minute; it is 0 if one of them is 0. Raise this limit for an event with more people behind one address. All nodes share this limit.
	GuestsPerDayPerAddress int `yaml:"guests_per_day_per_address" range:"0..1000000"`
	// Maximum number of guest registrations per address and minute, from new and known devices. A burst may be 5 times as large. The default grows with the same limits as guests_per_day_per_address. Each node counts separately.
	GuestRequestsPerMinutePerAddress int `yaml:"guest_requests_per_minute_per_address" range:"0..1000000"`
	// Maximum number of wrong arena codes per address and hour. Above the limit, known players at that address may together enter half as many more, and each player 2 an hour. Codes that were right within the last day still work. All nodes share this limit.
	CodeAttemptsPerHourPerAddress int `yaml:"code_attempts_per_hour_per_address" default:"100" range:"0..1000000"`
	// Maximum number of nickname look-ups per address and minute. Each node counts separately.
	NicknameLookupsPerMinutePerAddress int `yaml:"nickname_lookups_per_minute_per_address" default:"600" range:"0..1000000"`
	// Maximum number of reads of leaderboards, players, matches and arenas, per address and second. A burst may be 10 times as large. Each node counts separately.
	ReadsPerSecondPerAddress int `yaml:"reads_per_second_per_address" default:"100" range:"0..1000000"`
	// Maximum number of arenas that one host creates per hour. Raise this limit for a service that creates arenas for many hosts. All nodes share this limit.
	ArenasPerHourPerHost int `yaml:"arenas_per_hour_per_host" default:"120" range:"0..1000000"`
	// Maximum number of arenas that players at one address create per hour. All nodes share this limit.
	ArenasPerHourPerAddress int `yaml:"arenas_per_hour_per_address" default:"120" range:"0..1000000"`
	// Maximum number of changes of nickname, account and device, and of erasures, per player and hour. All nodes share this limit.
	AccountChangesPerHourPerPlayer int `yaml:"account_changes_per_hour_per_player" default:"60" range:"0..1000000"`
	// Maximum number of players who erase themselves, per address and minute. A burst may be 6 times as large. All nodes share this limit.
	ErasuresPerMinutePerAddress int `yaml:"erasures_per_minute_per_address" default:"10" range:"0..1000000"`
	// Maximum number of behaviours that one service posts per second. A burst may be at least 1,000. All nodes share this limit.
	BehavioursPerSecondPerService int `yaml:"behaviours_per_second_per_service" default:"20000" range:"0..1000000"`
	// Maximum number of requests about tasks, per service and second. Each node counts separately.
	TaskRequestsPerSecondPerService int `yaml:"task_requests_per_second_per_service" default:"1000" range:"0..1000000"`
	// Rules that count the requests they would refuse, and refuse none: true for all rules, or a list of rules. Use this to test a new limit.
	DryRun DryRun `yaml:"dry_run" allowed:"true, false, or a list of rules"`
}

// unsetLimit marks a limit whose default depends on other limits, until applyDefaults sets it.
const unsetLimit = math.MinInt

// The defaults of the limits that depend on other limits: see applyDefaults.
const (
	minDefaultGuestsPerDay           = 5000
	minDefaultGuestRequestsPerMinute = 600
	guestMinutesPerDay               = 80 // the default limit per day allows this many minutes of guests at the limit per minute
	requestsPerNewGuest              = 10 // registrations per minute, for each new guest per minute
)

// applyDefaults sets GuestsPerDayPerAddress and GuestRequestsPerMinutePerAddress if they are
// unset. Both grow with the limits on new guests per address and minute. If one of those is 0
// (no limit), both are 0 too.
func (l *RequestLimits) applyDefaults() {
	defaultPerDay, defaultRequests := 0, 0
	if withoutCode, withCode := l.GuestsPerMinutePerAddress, l.ArenaGuestsPerMinutePerAddress; withoutCode > 0 && withCode > 0 {
		defaultPerDay = min(max(minDefaultGuestsPerDay, guestMinutesPerDay*min(withoutCode, maxRequestLimit), withCode), maxRequestLimit)
		defaultRequests = min(max(minDefaultGuestRequestsPerMinute, requestsPerNewGuest*min(withoutCode, maxRequestLimit), withCode), maxRequestLimit)
	}
	if l.GuestsPerDayPerAddress == unsetLimit {
		l.GuestsPerDayPerAddress = defaultPerDay
	}
	if l.GuestRequestsPerMinutePerAddress == unsetLimit {
		l.GuestRequestsPerMinutePerAddress = defaultRequests
	}
}

// maxRequestLimit is the largest value of every request limit. The limiter adds at most one
// token per microsecond to a bucket.
const maxRequestLimit = 1_000_000

// The rules that have no key in limits, or whose key is not their name.
const (
	RuleCodeAttemptsByPlayers = "code_attempts_by_players_per_hour_per_address"
	RuleCodeAttemptsPerPlayer = "code_attempts_per_hour_per_player"
	RuleCodeAttemptsRefused   = "code_attempts_refused_per_hour_per_address"
	RuleLongReplay            = "long_replay_kib_per_second_per_address"
	RuleLongReplaysPerPlayer  = "long_replays_per_player"
	RuleLoadShedding          = "load_shedding" // all refusals of an overloaded node
)

// DryRunRules returns the names of all rules that dry_run accepts, sorted. Each key of
// RequestLimits and MatchLimits is also the name of its rule.
func DryRunRules() []string {
	names := []string{
		RuleCodeAttemptsByPlayers, RuleCodeAttemptsPerPlayer, RuleCodeAttemptsRefused, RuleLongReplay, RuleLongReplaysPerPlayer, RuleLoadShedding,
		"websockets", "websockets_per_address", "unauthenticated_websockets", "idle_websockets",
		"messages_per_second", "hellos_per_minute", "hellos_per_minute_per_address",
		httpserver.RuleTotal, httpserver.RulePerAddress, // the other two rules of connections ignore dry_run
	}
	for _, section := range []reflect.Type{reflect.TypeFor[RequestLimits](), reflect.TypeFor[MatchLimits]()} {
		for field := range section.Fields() {
			if _, hasRange := field.Tag.Lookup("range"); hasRange {
				key, _ := yamlKey(field)
				names = append(names, key)
			}
		}
	}
	return slices.Sorted(slices.Values(names))
}

// DryRun has the rules that count the requests they would refuse, and refuse none. In YAML, true
// stands for DryRunRules, and false for none.
type DryRun []string

var _ yaml.Marshaler = DryRun{}

// Includes reports whether a rule is in dry run.
func (d DryRun) Includes(rule string) bool { return slices.Contains(d, rule) }

// UnmarshalYAML decodes true, false or a list of rule names.
func (d *DryRun) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.ScalarNode {
		return node.Decode((*[]string)(d))
	}
	var isAll bool
	err := node.Decode(&isAll)
	if *d = nil; isAll {
		*d = DryRunRules()
	}
	return err
}

// MarshalYAML encodes the list of rule names, or true or false.
func (d DryRun) MarshalYAML() (any, error) {
	if isAll := slices.Equal(d, DryRunRules()); isAll || len(d) == 0 {
		return isAll, nil
	}
	return []string(d), nil
}

// MatchLimits limits matches per player and per address (the IP address of a client; IPv6: its
// /64). 0 means no limit. A key is also the name of its rule.
type MatchLimits struct {
	// Maximum number of duels per player and hour that the player leaves before the first question closes. Above the limit, duel.join fails with rate_limited. All nodes share this limit.
	EarlyForfeitsPerHourPerPlayer int `yaml:"early_forfeits_per_hour_per_player" default:"10" range:"0..1000000"`
	// The same limit for all players at one address together. Above the limit, only players who left such a duel within the last minutes are refused. All nodes share this limit.
	EarlyForfeitsPerHourPerAddress int `yaml:"early_forfeits_per_hour_per_address" default:"200" range:"0..1000000"`
	// Maximum number of duels and arenas that a player joins per day. Above the limit, duel.join and arena.join fail with rate_limited. Each node counts separately.
	MatchesPerDayPerPlayer int `yaml:"matches_per_day_per_player" default:"2000" range:"0..1000000"`
	// The same limit for all players at one address together. Above the limit, only players who have used more than a twentieth of matches_per_day_per_player are refused. All nodes share this limit.
	MatchesPerDayPerAddress int `yaml:"matches_per_day_per_address" default:"100000" range:"0..1000000"`
}

// ConnectionLimits limits connections and logins per node, and the load of a node. An address
// is the IP address of a client (IPv6: its /64). 0 means no limit unless the comment says
// otherwise.
type ConnectionLimits struct {
	// Maximum number of websockets per address (IPv6: per /64) and node. When more than half of connections are in use, the limit per address falls, to a twentieth at least. Connections of all kinds together may be twice as many and 64 more.
	ConnectionsPerAddress int64 `yaml:"connections_per_address" default:"2500" range:"0..10000000"`
	// Maximum number of logins (hello messages) per minute and node. Logins of players who resume a match do not count.
	HellosPerMinute int `yaml:"hellos_per_minute" default:"120000" range:"0..100000000"`
	// Maximum number of logins (hello messages) per minute, address and node.
	HellosPerMinutePerAddress int `yaml:"hellos_per_minute_per_address" default:"3000" range:"0..1000000"`
	// Maximum number of HTTP requests that a node handles at the same time. From half of this number on, the node sheds load: it refuses some requests. Higher: later refusals. Lower: faster responses under load.
	MaxConcurrentRequests int64 `yaml:"max_concurrent_requests" default:"2000" range:"0..1000000"`
	// Scheduler lag in ms (99th percentile, for 3 s) from which on a node sheds load. From a 64th of this lag on, and at least 2 ms, the node starts no further duels. Higher: more players, slower responses. Lower: earlier refusals. 0: the node ignores the lag.
	MaxSchedulerLagMS int64 `yaml:"max_scheduler_lag_ms" default:"250" range:"0..60000"`
	// Memory that the process may use, in MiB. From 70% on, the node sheds load. 0: the value of GOMEMLIMIT, else the memory of the container or machine.
	MaxMemoryMiB int64 `yaml:"max_memory_mib" range:"0..16777216"`
	// Memory that the process allocates before the garbage collector runs again, at least, in MiB. Higher: less CPU. Lower: less memory. 0: 192, or a sixteenth of max_memory_mib if that is less. 1: the default behaviour of Go. The environment variable GOGC takes precedence.
	GCHeadroomMiB int64 `yaml:"gc_headroom_mib" range:"0..16777216"`
}
