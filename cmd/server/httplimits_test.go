package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"laststand/internal/cli"
	"laststand/internal/config"
	"laststand/internal/httpserver"
)

// requestGuest requests a guest by its number, and returns the status and the value of
// Retry-After.
func requestGuest(t *testing.T, url string, number int) (status int, retryAfter string) {
	t.Helper()
	device := strings.Repeat(string(rune('a'+number)), 22)
	answer, err := http.Post(url+"/v1/games/demo/guests", "application/json", strings.NewReader(`{"device":"`+device+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, answer.Header.Get("Retry-After")
}

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
		status, retryAfter := requestGuest(t, node.url, i)
		if status != want || (retryAfter != "") != (want == 429) {
			t.Errorf("guest %d: %d, Retry-After %q", i, status, retryAfter)
		}
	}
	for range 15 {
		if status := get(t, node.url+"/v1/games/demo/matches/m_1", nil); status != 404 {
			t.Errorf("a read in the dry run: %d", status)
		}
	}
	answer, err := http.Get(node.opsURL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	metrics, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(metrics, []byte(`laststand_limit_refusals_total{rule="guests_per_minute_per_address"} 1`)) ||
		bytes.Contains(metrics, []byte(`laststand_limit_dry_run_refusals_total{rule="reads_per_second_per_address"} 0`)) {
		t.Errorf("the refusals are not counted:\n%s", metrics)
	}
	rules := regexp.MustCompile(`laststand_limit_refusals_total\{rule="(\w+)"\}`).FindAllSubmatch(metrics, -1)
	var dryRunAll config.DryRun
	if err := yaml.Unmarshal([]byte("true"), &dryRunAll); err != nil {
		t.Fatal(err)
	}
	if len(rules) < len(config.DryRunRules()) {
		t.Errorf("%d rules", len(rules))
	}
	for _, rule := range rules {
		name := string(rule[1])
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
		if status, _ := requestGuest(t, nodes[i%2].url, i); status == http.StatusCreated {
			accepted++
		}
	}
	if accepted < 3 || accepted > 4 { // 4: a node timed out once while it waited for Redis
		t.Errorf("%d guests were created, want 3", accepted)
	}
}

// One address can create a limited number of guests, with the codes of any number of arenas. The
// server still accepts known devices.
func TestGuestsPerAddressAreLimitedAcrossArenas(t *testing.T) {
	t.Parallel()
	redis := redisWithDocumentedKeys(t)
	for name, flags := range map[string]cli.Flags{"embedded": {}, "redis": {Redis: &redis}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flags.Data = new(t.TempDir())
			flags.Config = configFile(t, "limits: {arena_guests_per_minute_per_address: 20, guests_per_minute_per_address: 5}")
			node := startNode(t, flags)
			host := createGuest(t, node.url, "the-host-of-three-arenas", "")
			if host.status != http.StatusCreated {
				t.Fatalf("the host: %+v", host)
			}
			created := 0
			for i := range 3 {
				code := createArenaWithPlaces(t, node.url, host.Token, 30)
				for j := 0; createGuest(t, node.url, fmt.Sprintf("a-guest-of-three-arenas-%d-%d", i, j), code).status == http.StatusCreated; j++ {
					created++
				}
			}
			if created < 30+4 || created > 30+5+5 { // the bucket refills during the test
				t.Errorf("%d new guests, want the 30 of an arena and 4 of the address", created)
			}
			for range 50 {
				if repeated := createGuest(t, node.url, "a-guest-of-three-arenas-0-0", ""); repeated.status != http.StatusOK {
					t.Fatalf("a known device: %+v", repeated)
				}
			}
		})
	}
}

type createdGuest struct {
	Token  string `json:"token"`
	Player string `json:"player_id"`
	status int
}

// createGuest requests the guest of a device, with the code of an arena.
func createGuest(t *testing.T, url, device, arena string) (g createdGuest) {
	t.Helper()
	body := fmt.Sprintf(`{"device":%q,"arena":%q}`, device, arena)
	answer, err := http.Post(url+"/v1/games/demo/guests", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&g); err != nil {
		t.Fatal(err)
	}
	g.status = answer.StatusCode
	return g
}

// createArenaWithPlaces creates an arena with this many places and returns its code.
func createArenaWithPlaces(t *testing.T, url, token string, places int) string {
	t.Helper()
	body := fmt.Sprintf(`{"mode":"survival","name":"Cup","questions":{"count":3},"pace":"auto","max_players":%d}`, places)
	r, err := http.NewRequest(http.MethodPost, url+"/v1/games/demo/arenas", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var created struct{ Code string }
	if err := json.NewDecoder(answer.Body).Decode(&created); err != nil || created.Code == "" {
		t.Fatalf("no arena: %d, %v", answer.StatusCode, err)
	}
	return created.Code
}
