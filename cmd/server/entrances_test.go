package main

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// askGuest asks for a guest, and gives the status and when to try again.
func askGuest(t *testing.T, url, body string) (status int, again string) {
	t.Helper()
	answer, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, answer.Header.Get("Retry-After")
}

// What is configured limits, and what is on trial is only counted; every rule
// can be put on trial by the name that metrics have.
func TestEntrances(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := startNode(t, cli{Data: &dir, Config: configFile(t, `
limits: {guests_per_minute_per_address: 2, reads_per_second_per_address: 1, nickname_lookups_per_minute_per_address: 0, dry_run: [reads_per_second_per_address]}
`)})
	guests := n.url + "/v1/games/demo/guests"
	for i, want := range []int{201, 201, 429} {
		status, again := askGuest(t, guests, `{"device":"`+strings.Repeat(string(rune('a'+i)), 22)+`"}`)
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
	for _, rule := range regexp.MustCompile(`laststand_limit_refused_total\{rule="(\w+)"\}`).FindAllSubmatch(metrics, -1) {
		if name := string(rule[1]); !slices.Contains(limitNames(), name) {
			t.Errorf("the rule %s cannot be put on trial", name)
		}
	}
}
