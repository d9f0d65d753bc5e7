package main

import (
	"maps"
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
	WrongCodesPerHourPerAddress        int    `yaml:"wrong_codes_per_hour_per_address"`
	NicknameLookupsPerMinutePerAddress int    `yaml:"nickname_lookups_per_minute_per_address"`
	ReadsPerSecondPerAddress           int    `yaml:"reads_per_second_per_address"`
	ArenasPerHourPerHost               int    `yaml:"arenas_per_hour_per_host"`
	ArenasPerHourPerAddress            int    `yaml:"arenas_per_hour_per_address"`
	ChangesPerHourPerPlayer            int    `yaml:"changes_per_hour_per_player"`
	BehavioursPerSecondPerService      int    `yaml:"behaviours_per_second_per_service"`
	TaskCallsPerSecondPerService       int    `yaml:"task_calls_per_second_per_service"`
	DryRun                             trials `yaml:"dry_run"`
}

func defaultEntranceLimits() entranceLimits {
	return entranceLimits{
		GuestsPerMinutePerAddress: 60, ArenaGuestsPerMinutePerAddress: 1500, GuestsPerMinutePerArena: 3000,
		WrongCodesPerHourPerAddress: 100, NicknameLookupsPerMinutePerAddress: 600, ReadsPerSecondPerAddress: 100,
		ArenasPerHourPerHost: 120, ArenasPerHourPerAddress: 120, ChangesPerHourPerPlayer: 60,
		BehavioursPerSecondPerService: 20_000, TaskCallsPerSecondPerService: 1000,
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
		"wrong_codes_per_hour_per_address":        l.WrongCodesPerHourPerAddress,
		"nickname_lookups_per_minute_per_address": l.NicknameLookupsPerMinutePerAddress,
		"reads_per_second_per_address":            l.ReadsPerSecondPerAddress,
		"arenas_per_hour_per_host":                l.ArenasPerHourPerHost,
		"arenas_per_hour_per_address":             l.ArenasPerHourPerAddress,
		"changes_per_hour_per_player":             l.ChangesPerHourPerPlayer,
		"behaviours_per_second_per_service":       l.BehavioursPerSecondPerService,
		"task_calls_per_second_per_service":       l.TaskCallsPerSecondPerService,
	}
}

// The rules that have no setting go by an arena's places.
const (
	guestsPerArena = "guests_per_arena"
	guestsOfArena  = "guests_per_arena_and_address"
)

// limitNames are those of all rules, of which any may be on trial.
func limitNames() []string {
	names := slices.Collect(maps.Keys(new(entranceLimits).settings()))
	names = append(names, guestsPerArena, guestsOfArena, lateCodes, lateCodesEach, vainCodes,
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
