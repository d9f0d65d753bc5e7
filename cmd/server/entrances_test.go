package main

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"laststand/internal/proxies"
	"laststand/internal/trial"
)

// askGuest asks for a guest by its number, and gives the status and when to try
// again.
func askGuest(t *testing.T, url string, i int) (status int, again string) {
	t.Helper()
	device := strings.Repeat(string(rune('a'+i)), 22)
	answer, err := http.Post(url+"/v1/games/demo/guests", "application/json", strings.NewReader(`{"device":"`+device+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, answer.Header.Get("Retry-After")
}

// What is configured limits, and what is on trial is only counted; every rule
// can be put on trial by the name that metrics have, but for two that stand.
func TestEntrances(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := startNode(t, cli{Data: &dir, Config: configFile(t, `
limits: {guests_per_minute_per_address: 2, reads_per_second_per_address: 1, dry_run: [reads_per_second_per_address]}
`)})
	for i, want := range []int{201, 201, 429} {
		status, again := askGuest(t, n.url, i)
		if status != want || (again != "") != (want == 429) {
			t.Errorf("guest %d: %d, Retry-After %q", i, status, again)
		}
	}
	for range 15 {
		if status := get(t, n.url+"/v1/games/demo/matches/m_1", nil); status != 404 {
			t.Errorf("a read on trial: %d", status)
		}
	}
	answer, err := http.Get(n.ops + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	metrics, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(metrics, []byte(`laststand_limit_refused_total{rule="guests_per_minute_per_address"} 1`)) ||
		bytes.Contains(metrics, []byte(`laststand_limit_would_refuse_total{rule="reads_per_second_per_address"} 0`)) {
		t.Errorf("not counted:\n%s", metrics)
	}
	rules := regexp.MustCompile(`laststand_limit_refused_total\{rule="(\w+)"\}`).FindAllSubmatch(metrics, -1)
	if len(rules) < len(new(entranceLimits).settings()) {
		t.Errorf("%d rules", len(rules))
	}
	for _, rule := range rules {
		name := string(rule[1])
		stands := name == proxies.RuleHeader || name == proxies.RuleStranger
		if slices.Contains(limitNames(), name) == stands || (trials{all: true}).has(name) == stands {
			t.Errorf("the rule %s can be put on trial: %t", name, stands)
		}
	}
}

// What holds over all nodes is counted by the Redis that they share.
func TestEntrancesOverNodes(t *testing.T) {
	t.Parallel()
	shared := trial.Redis(t).URL
	var nodes []*running
	for range 2 {
		dir := t.TempDir()
		nodes = append(nodes, startNode(t, cli{Data: &dir, Redis: &shared, Config: configFile(t, "limits: {guests_per_minute_per_address: 3}")}))
	}
	in := 0
	for i := range 6 { // each alone would let three in
		if status, _ := askGuest(t, nodes[i%2].url, i); status == http.StatusCreated {
			in++
		}
	}
	if in < 3 || in > 4 { // 4: a node that waited in vain for Redis once
		t.Errorf("%d guests, want 3", in)
	}
}
