package main

import (
	"math"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"laststand/internal/proxies"
)

// requestLimits bounds HTTP requests of addresses, players and services, and attempts of arena
// codes over the websocket. 0 means no limit. A key is also the name of its rule in metrics
// and refusals.
type requestLimits struct {
	// New guests of an address without the code of an arena. Known devices do not count. Holds over all nodes.
	GuestsPerMinutePerAddress int `yaml:"guests_per_minute_per_address" range:"0..1000000"`
	// New guests of an address with the code of an arena that is not over; as many at once as the largest arena has places. Beyond it they count as guests without a code. Holds over all nodes.
	ArenaGuestsPerMinutePerAddress int `yaml:"arena_guests_per_minute_per_address" range:"0..1000000"`
	// New guests of one arena, of all addresses. Beyond it they count as guests without a code. Holds over all nodes.
	GuestsPerMinutePerArena int `yaml:"guests_per_minute_per_arena" range:"0..1000000"`
	// All new guests of an address in a day. The default grows with the limits per minute and is 0 if one of them is 0. Raise it for an event of more people behind one address. Holds over all nodes.
	GuestsPerDayPerAddress int `yaml:"guests_per_day_per_address" range:"0..1000000"`
	// Requests of an address for guest players, of new and known devices, with those of 5 minutes at once. The default grows like that of guests_per_day_per_address. Holds at each node.
	GuestRequestsPerMinutePerAddress int `yaml:"guest_requests_per_minute_per_address" range:"0..1000000"`
	// Arena codes of an address that lead to no arena. Beyond it, players of that address have half as many more together and 2 an hour each, and codes that were right within a day still work. Holds over all nodes.
	CodeAttemptsPerHourPerAddress int `yaml:"code_attempts_per_hour_per_address" range:"0..1000000"`
	// Nickname look-ups of an address. Holds at each node.
	NicknameLookupsPerMinutePerAddress int `yaml:"nickname_lookups_per_minute_per_address" range:"0..1000000"`
	// Reads of leaderboards, players, matches and arenas by an address, with those of 10 s at once. Holds at each node.
	ReadsPerSecondPerAddress int `yaml:"reads_per_second_per_address" range:"0..1000000"`
	// Arenas that one host creates. Raise it for a service that creates arenas for many hosts. Holds over all nodes.
	ArenasPerHourPerHost int `yaml:"arenas_per_hour_per_host" range:"0..1000000"`
	// Arenas that the players of an address create. Holds over all nodes.
	ArenasPerHourPerAddress int `yaml:"arenas_per_hour_per_address" range:"0..1000000"`
	// Changes of nickname, account and device, and erasures, by one player. Holds over all nodes.
	AccountChangesPerHourPerPlayer int `yaml:"account_changes_per_hour_per_player" range:"0..1000000"`
	// Players of an address who erase themselves, with those of 6 minutes at once. Holds over all nodes.
	ErasuresPerMinutePerAddress int `yaml:"erasures_per_minute_per_address" range:"0..1000000"`
	// Behaviours that one service posts; at least 1,000 at once. Holds over all nodes.
	BehavioursPerSecondPerService int `yaml:"behaviours_per_second_per_service" range:"0..1000000"`
	// Requests about tasks by one service. Holds at each node.
	TaskRequestsPerSecondPerService int `yaml:"task_requests_per_second_per_service" range:"0..1000000"`
	// Rules that count what they would refuse and refuse nothing: true for all, or a list of rules. Try a new number with it.
	DryRun dryRun `yaml:"dry_run" allowed:"true, false, or a list of rules"`
}

func defaultRequestLimits() requestLimits {
	return requestLimits{
		GuestsPerMinutePerAddress: 60, ArenaGuestsPerMinutePerAddress: 300, GuestsPerMinutePerArena: 3000,
		GuestsPerDayPerAddress: unset, GuestRequestsPerMinutePerAddress: unset,
		CodeAttemptsPerHourPerAddress: 100, NicknameLookupsPerMinutePerAddress: 600, ReadsPerSecondPerAddress: 100,
		ArenasPerHourPerHost: 120, ArenasPerHourPerAddress: 120, AccountChangesPerHourPerPlayer: 60, ErasuresPerMinutePerAddress: 10,
		BehavioursPerSecondPerService: 20_000, TaskRequestsPerSecondPerService: 1000,
	}
}

// unset marks a limit whose default depends on other limits, until fill sets it.
const unset = math.MinInt

// Defaults that bound all requests and all new guests of an address.
const (
	guestsPerDay         = 5000
	guestRequests        = 600 // a minute
	minutesOfDailyGuests = 80  // the guests of a day arrive within this many minutes
	requestsPerGuest     = 10
)

// fill sets the unset limits. An operator who raises or removes the limits per minute gets
// matching limits per day and of requests.
func (l *requestLimits) fill() {
	day, requests := 0, 0
	if withoutCode, withCode := l.GuestsPerMinutePerAddress, l.ArenaGuestsPerMinutePerAddress; withoutCode > 0 && withCode > 0 {
		day = min(max(guestsPerDay, minutesOfDailyGuests*min(withoutCode, maxLimit), withCode), maxLimit)
		requests = min(max(guestRequests, requestsPerGuest*min(withoutCode, maxLimit), withCode), maxLimit)
	}
	if l.GuestsPerDayPerAddress == unset {
		l.GuestsPerDayPerAddress = day
	}
	if l.GuestRequestsPerMinutePerAddress == unset {
		l.GuestRequestsPerMinutePerAddress = requests
	}
}

// maxLimit bounds all request limits, because a token of a bucket takes at least a
// microsecond.
const maxLimit = 1_000_000

// ruleNames returns the numeric keys of a section of limits. Each is also the name of its
// rule.
func ruleNames(section any) (names []string) {
	for field := range reflect.TypeOf(section).Fields() {
		if _, ok := rangeOf(field); ok {
			key, _ := yamlKey(field)
			names = append(names, key)
		}
	}
	return names
}

// limitNames returns the names of all rules that dry_run accepts.
func limitNames() []string {
	names := append(ruleNames(requestLimits{}), ruleNames(matchLimits{})...)
	names = append(names, codeAttemptsByPlayers, codeAttemptsPerPlayer, codeAttemptsRefused, longReplays,
		"websockets", "websockets_per_address", "unauthenticated_websockets", "idle_websockets",
		"messages_per_second", "hellos_per_minute", "hellos_per_minute_per_address", loadShedding)
	names = append(names, proxies.RuleFull, proxies.RuleCrowded) // dry_run cannot disable the other two rules
	return slices.Sorted(slices.Values(names))
}

func (l *requestLimits) validate(f *faults) {
	for _, name := range l.DryRun.rules {
		if known := limitNames(); !slices.Contains(known, name) {
			f.addf("limits.dry_run: %q is none of %s", name, strings.Join(known, ", "))
		}
	}
}

// dryRun lists the limits that count what they would refuse, and refuse nothing: all of them,
// or those in rules.
type dryRun struct {
	all   bool
	rules []string
}

var _ yaml.Marshaler = dryRun{}

func (t dryRun) includes(rule string) bool {
	if t.all {
		return rule != proxies.RuleHeader && rule != proxies.RuleStranger
	}
	return slices.Contains(t.rules, rule)
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (t *dryRun) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		return n.Decode(&t.all)
	}
	return n.Decode(&t.rules)
}

// MarshalYAML implements yaml.Marshaler.
func (t dryRun) MarshalYAML() (any, error) {
	if len(t.rules) == 0 {
		return t.all, nil
	}
	return t.rules, nil
}
