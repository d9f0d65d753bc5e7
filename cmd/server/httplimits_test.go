package main

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"

	"laststand/internal/cli"
	"laststand/internal/config"
	"laststand/internal/httpserver"
	"laststand/internal/testenv"
)

// The limits of an address's new guests per day and of its calls follow its limits per minute.
// An operator who raises or removes a limit per minute need not change the others.
func TestDefaultGuestLimitsGrowWithTheLimitsPerMinute(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]int{
		"": {5000, 600},
		"limits: {guests_per_minute_per_address: 1000}":                                     {80_000, 10_000},
		"limits: {guests_per_minute_per_address: 2}":                                        {5000, 600},
		"limits: {guests_per_minute_per_address: 1000000}":                                  {1_000_000, 1_000_000},
		"limits: {arena_guests_per_minute_per_address: 20000}":                              {20_000, 20_000},
		"limits: {guests_per_minute_per_address: 0}":                                        {0, 0},
		"limits: {arena_guests_per_minute_per_address: 0}":                                  {0, 0},
		"limits: {guests_per_minute_per_address: 0, guests_per_day_per_address: 7}":         {7, 0},
		"limits: {guests_per_day_per_address: 0, guest_requests_per_minute_per_address: 9}": {0, 9},
	} {
		c, err := config.Read(configFile(t, text))
		if got := [2]int{c.Limits.GuestsPerDayPerAddress, c.Limits.GuestRequestsPerMinutePerAddress}; got != want || err != nil {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	if c, err := config.Read(""); c.Limits.GuestsPerDayPerAddress != 5000 || err != nil {
		t.Errorf("without a file: %d, %v", c.Limits.GuestsPerDayPerAddress, err)
	}
}

// Configured limits refuse requests; limits in a dry run only count them. A dry run can have
// every rule, by its name in the metrics, except two rules that always refuse.
func TestRequestLimitsRefuseUnlessInDryRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	node := startNode(t, cli.Flags{Data: &dir, Config: configFile(t, `
limits: {guests_per_minute_per_address: 2, reads_per_second_per_address: 1, dry_run: [reads_per_second_per_address]}
`)})
	for i, want := range []int{201, 201, 429} {
		if r := postGuest(t, node.url, fmt.Sprint(device, i), ""); r.status != want || (r.header.Get("Retry-After") != "") != (want == 429) {
			t.Errorf("guest %d: %s", i, r)
		}
	}
	for range 15 {
		if status := get(t, node.url+"/v1/games/demo/matches/m_1", nil); status != 404 {
			t.Errorf("a read in the dry run: %d", status)
		}
	}
	if sumMetric(t, node.opsURL, "laststand_limit_refusals_total", `rule="guests_per_minute_per_address"`) != 1 ||
		sumMetric(t, node.opsURL, "laststand_limit_dry_run_refusals_total", `rule="reads_per_second_per_address"`) == 0 {
		t.Error("the refusals are not counted")
	}
	rules := regexp.MustCompile(`laststand_limit_refusals_total\{rule="(\w+)"\}`).FindAllStringSubmatch(metrics(t, node.opsURL), -1)
	var dryRunAll config.DryRun
	testenv.NoError(t, yaml.Unmarshal([]byte("true"), &dryRunAll))
	if len(rules) < len(config.DryRunRules()) {
		t.Errorf("%d rules", len(rules))
	}
	for _, rule := range rules {
		name := rule[1]
		alwaysRefuses := name == httpserver.RuleHeader || name == httpserver.RuleStranger
		if slices.Contains(config.DryRunRules(), name) == alwaysRefuses || dryRunAll.Includes(name) == alwaysRefuses {
			t.Errorf("rule %s always refuses: %t; dry_run must accept all other rules and only them", name, alwaysRefuses)
		}
	}
}

// The shared Redis counts for the limits that all nodes share.
func TestNodesShareRequestLimits(t *testing.T) {
	t.Parallel()
	shared := redisWithDocumentedKeys(t)
	var nodes []*testNode
	for range 2 {
		dir := t.TempDir()
		nodes = append(nodes, startNode(t, cli.Flags{Data: &dir, Redis: &shared, Config: configFile(t, "limits: {guests_per_minute_per_address: 3}")}))
	}
	accepted := 0
	for i := range 6 { // each node alone would accept three
		if postGuest(t, nodes[i%2].url, fmt.Sprint(device, i), "").status == http.StatusCreated {
			accepted++
		}
	}
	if accepted < 3 || accepted > 4 { // 4: a node timed out once while it waited for Redis
		t.Errorf("%d guests were created, want 3", accepted)
	}
}
