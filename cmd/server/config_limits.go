package main

import (
	"maps"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"laststand/internal/proxies"
)

// entranceLimits are how often what may be done over HTTP; 0 is no limit.
type entranceLimits struct {
	GuestsPerMinutePerAddress          int    `yaml:"guests_per_minute_per_address"`
	ArenaGuestsPerMinutePerAddress     int    `yaml:"arena_guests_per_minute_per_address"`
	GuestsPerMinutePerArena            int    `yaml:"guests_per_minute_per_arena"`
	GuestsPerDayPerAddress             int    `yaml:"guests_per_day_per_address"`
	GuestCallsPerMinutePerAddress      int    `yaml:"guest_calls_per_minute_per_address"`
	WrongCodesPerHourPerAddress        int    `yaml:"wrong_codes_per_hour_per_address"`
	NicknameLookupsPerMinutePerAddress int    `yaml:"nickname_lookups_per_minute_per_address"`
	ReadsPerSecondPerAddress           int    `yaml:"reads_per_second_per_address"`
	ArenasPerHourPerHost               int    `yaml:"arenas_per_hour_per_host"`
	ArenasPerHourPerAddress            int    `yaml:"arenas_per_hour_per_address"`
	ChangesPerHourPerPlayer            int    `yaml:"changes_per_hour_per_player"`
	ErasuresPerMinutePerAddress        int    `yaml:"erasures_per_minute_per_address"`
	BehavioursPerSecondPerService      int    `yaml:"behaviours_per_second_per_service"`
	TaskCallsPerSecondPerService       int    `yaml:"task_calls_per_second_per_service"`
	DryRun                             trials `yaml:"dry_run"`
}

func defaultEntranceLimits() entranceLimits {
	return entranceLimits{
		GuestsPerMinutePerAddress: 60, ArenaGuestsPerMinutePerAddress: 300, GuestsPerMinutePerArena: 3000,
		GuestsPerDayPerAddress: unset, GuestCallsPerMinutePerAddress: unset,
		WrongCodesPerHourPerAddress: 100, NicknameLookupsPerMinutePerAddress: 600, ReadsPerSecondPerAddress: 100,
		ArenasPerHourPerHost: 120, ArenasPerHourPerAddress: 120, ChangesPerHourPerPlayer: 60, ErasuresPerMinutePerAddress: 10,
		BehavioursPerSecondPerService: 20_000, TaskCallsPerSecondPerService: 1000,
	}
}

// unset is a limit whose default depends on others, until fill has set it.
const unset = math.MinInt

// Defaults of what all calls and new guests of an address come to.
const (
	guestsPerDay   = 5000
	guestCalls     = 600 // a minute
	fillsADay      = 80  // minutes in which an address has its guests of the day
	callsForAGuest = 10
)

// fill sets the limits that are left to it: who has raised the limits of new guests
// in a minute, or has none, is not held back by those of the day and of calls.
func (l *entranceLimits) fill() {
	day, calls := 0, 0
	if alone, coming := l.GuestsPerMinutePerAddress, l.ArenaGuestsPerMinutePerAddress; alone > 0 && coming > 0 {
		day = min(max(guestsPerDay, fillsADay*min(alone, mostOfALimit), coming), mostOfALimit)
		calls = min(max(guestCalls, callsForAGuest*min(alone, mostOfALimit), coming), mostOfALimit)
	}
	if l.GuestsPerDayPerAddress == unset {
		l.GuestsPerDayPerAddress = day
	}
	if l.GuestCallsPerMinutePerAddress == unset {
		l.GuestCallsPerMinutePerAddress = calls
	}
}

// mostOfALimit bounds them all: a token takes a microsecond at the least.
const mostOfALimit = 1_000_000

// settings are the numbers by their names, which are their rules' too.
func (l *entranceLimits) settings() map[string]int {
	return map[string]int{
		"guests_per_minute_per_address":           l.GuestsPerMinutePerAddress,
		"arena_guests_per_minute_per_address":     l.ArenaGuestsPerMinutePerAddress,
		"guests_per_minute_per_arena":             l.GuestsPerMinutePerArena,
		"guests_per_day_per_address":              l.GuestsPerDayPerAddress,
		"guest_calls_per_minute_per_address":      l.GuestCallsPerMinutePerAddress,
		"wrong_codes_per_hour_per_address":        l.WrongCodesPerHourPerAddress,
		"nickname_lookups_per_minute_per_address": l.NicknameLookupsPerMinutePerAddress,
		"reads_per_second_per_address":            l.ReadsPerSecondPerAddress,
		"arenas_per_hour_per_host":                l.ArenasPerHourPerHost,
		"arenas_per_hour_per_address":             l.ArenasPerHourPerAddress,
		"changes_per_hour_per_player":             l.ChangesPerHourPerPlayer,
		"erasures_per_minute_per_address":         l.ErasuresPerMinutePerAddress,
		"behaviours_per_second_per_service":       l.BehavioursPerSecondPerService,
		"task_calls_per_second_per_service":       l.TaskCallsPerSecondPerService,
	}
}

// limitNames are those of all rules, of which any may be on trial.
func limitNames() []string {
	names := slices.Collect(maps.Keys(new(entranceLimits).settings()))
	names = slices.AppendSeq(names, maps.Keys(new(matchLimits).settings()))
	names = append(names, lateCodes, lateCodesEach, vainCodes,
		"websockets", "websockets_per_address", "websockets_without_hello", "websockets_idle",
		"messages_per_second", "hellos_per_minute", "hellos_per_minute_per_address", shedding)
	names = append(names, proxies.RuleFull, proxies.RuleCrowded) // the other two always stand
	return slices.Sorted(slices.Values(names))
}

func (l *entranceLimits) validate(f *faults) {
	settings := l.settings()
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		f.between("limits."+name, int64(settings[name]), 0, mostOfALimit)
	}
	for _, name := range l.DryRun.rules {
		if known := limitNames(); !slices.Contains(known, name) {
			f.addf("limits.dry_run: %q is none of %s", name, strings.Join(known, ", "))
		}
	}
}

// trials are the limits that count what they would refuse, and refuse nothing:
// all, or those named.
type trials struct {
	all   bool
	rules []string
}

var _ yaml.Marshaler = trials{}

func (t trials) has(rule string) bool {
	if t.all {
		return rule != proxies.RuleHeader && rule != proxies.RuleStranger
	}
	return slices.Contains(t.rules, rule)
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (t *trials) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		return n.Decode(&t.all)
	}
	return n.Decode(&t.rules)
}

// MarshalYAML implements yaml.Marshaler.
func (t trials) MarshalYAML() (any, error) {
	if len(t.rules) == 0 {
		return t.all, nil
	}
	return t.rules, nil
}
