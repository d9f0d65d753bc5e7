package main

import (
	"net/http"
	"strings"
	"testing"

	"laststand/internal/cli"
)

// The operations address shows metrics of every package, and of the process.
func TestMetricsOfEveryPackageAreServed(t *testing.T) {
	t.Parallel()
	node := startNode(t, cli.Flags{Data: ptr(t.TempDir()), Config: configFile(t, fastDuelsConfig)})
	playDuels(t, node.url, 1)
	text := metrics(t, node.opsURL)
	for _, line := range []string{
		`laststand_match_answers_total{verdict="accepted"} 10`, `laststand_match_ends_total{mode="duel",reason="finished"} 1`,
		`laststand_lobby_pairings_total{opponent="player"} 1`, "laststand_match_unsettled_results ", "laststand_ws_sessions ",
		"laststand_ws_answer_duration_seconds_count 10", "laststand_timer_timers ", "laststand_timer_due_timers ",
		`laststand_timer_lateness_seconds_bucket{le="0.02"} `, "laststand_timer_max_lateness_seconds ", "laststand_redis_pool_connections{", "laststand_settle_", "laststand_http_", "laststand_leaderboards_watches 0",
		"go_goroutines ", "process_open_fds ",
	} {
		if !strings.Contains(text, "\n"+line) {
			t.Errorf("the metrics do not have %s", line)
		}
	}
	if t.Failed() {
		t.Logf("%s", text)
	}
	for _, line := range node.warnings() {
		t.Errorf("a healthy node logs a warning: %s", line)
	}
	if status := get(t, node.url+"/metrics", nil); status != http.StatusNotFound {
		t.Errorf("players get %d for the metrics", status)
	}
}

// warnings returns the log lines with a warning or an error.
func (n *testNode) warnings() (lines []string) {
	for line := range strings.Lines(n.log.String()) {
		if strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR") {
			lines = append(lines, line)
		}
	}
	return lines
}
