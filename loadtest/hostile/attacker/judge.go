package attacker

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// checkControl compares what the honest players report, and what the server stores of
// their duels, with the duels that they played.
func (s *runner) checkControl(ctx context.Context) {
	listed, more := s.control.Violations()
	for _, line := range listed {
		s.report.addViolations("honest: " + line)
	}
	if more > 0 {
		s.report.addViolations(fmt.Sprintf("honest: and %d more", more))
	}
	played := s.control.DuelsPlayed()
	for _, n := range played {
		s.report.Duels += n
	}
	until := time.Now().Add(s.Return)
	for _, id := range slices.Sorted(maps.Keys(played)) {
		if n, err := s.kept(ctx, id, played[id], until); err != nil || n != played[id] {
			s.report.addViolations(fmt.Sprintf("honest: %s has played %d duels, and the board says %d (%v)", id, played[id], n, err))
		}
	}
}

// kept returns how many matches the leaderboard shows for a player. It waits until the
// leaderboard shows all played matches, or until the given instant.
func (s *runner) kept(ctx context.Context, id string, played int, until time.Time) (n int, err error) {
	for {
		if n, err = s.standing(ctx, id); err == nil && n >= played || time.Now().After(until) {
			return n, err
		}
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return n, err
		}
	}
}

func (s *runner) standing(ctx context.Context, id string) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Server.URL+"/v1/games/demo/leaderboards/all/"+id, nil)
	if err != nil {
		return 0, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s: %.100s (%w)", answer.Status, body, err)
	}
	var standing struct{ Matches int }
	return standing.Matches, json.Unmarshal(body, &standing)
}

// checkAttacks reports the violations that the attackers saw.
func (s *runner) checkAttacks() {
	for _, p := range s.report.Phases {
		for _, t := range p.Attacks {
			for _, line := range slices.Sorted(maps.Keys(t.Untrue)) {
				s.report.addViolations(fmt.Sprintf("%s (%d times, %s)", line, t.Untrue[line], p.Name))
			}
			if t.Omitted > 0 {
				s.report.addViolations(fmt.Sprintf("%s: and %d more", t.Kind, t.Omitted))
			}
		}
	}
}

// checkServer compares what the attackers saw with the metrics and the log of the
// server.
func (s *runner) checkServer(ctx context.Context) error {
	s.checkAttacks()
	after, err := s.Server.Metrics(ctx)
	if err != nil {
		return fmt.Errorf("the server does not answer any more: %w", err)
	}
	for how, seen := range s.report.refused() {
		if name, labels, counted := metricOf(how); counted {
			if n := after.Sum(name, labels...) - s.before.Sum(name, labels...); n < float64(seen) {
				s.report.addViolations(fmt.Sprintf("%d refusals %q were seen, and %s %v counts %.0f", seen, how, name, labels, n))
			}
		}
	}
	refused := s.report.refused()
	for metric, seen := range map[string]int64{ // by its reason
		"laststand_token_refusals_total": refused["close 4401"],
		"laststand_limit_refusals_total": refused["http 429"] + refused["error rate_limited"],
	} {
		if n := after.Sum(metric) - s.before.Sum(metric); n < float64(seen) {
			s.report.addViolations(fmt.Sprintf("%d refusals were seen, and %s counts %.0f", seen, metric, n))
		}
	}
	if n := after.Sum("laststand_ws_panics_total"); n > 0 {
		s.report.addViolations(fmt.Sprintf("%.0f messages panicked", n))
	}
	log := s.Server.Log()
	for _, word := range []string{"panic", "DATA RACE", "fatal error"} {
		if at := strings.Index(log, word); at >= 0 {
			s.report.addViolations(fmt.Sprintf("the log tells of a %s: %.2000s", word, log[at:]))
		}
	}
	return nil
}

// metricOf returns the metric in which the server counts a refusal that an attacker
// noted. The HTTP library's refusals before a request count too. The server need not
// count a client that it cuts off.
func metricOf(how string) (name string, labels []string, counted bool) {
	of, what, _ := strings.Cut(how, " ")
	label := []string{fmt.Sprintf("code=%q", what)}
	switch {
	case how == "http 414", how == "http 431": // before any route
		return "laststand_http_oversized_requests_total", []string{map[string]string{"414": `reason="url"`, "431": `reason="headers"`}[what]}, true
	case of == "http":
		return "laststand_http_requests_total", label, true
	case of == "close":
		return "laststand_ws_closes_total", label, true
	case of == "error":
		return "laststand_ws_refusals_total", label, true
	case of == "upgrade":
		return "laststand_ws_refusals_total", []string{`code="upgrade"`}, true
	}
	return "", nil, false
}
