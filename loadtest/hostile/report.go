package hostile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"laststand/loadtest/hostile/attack"
	"laststand/loadtest/players"
	"laststand/loadtest/report"
	"laststand/loadtest/stats"
)

// Report is the result of a run.
type Report struct {
	Before     Phase    `json:"before"`
	Phases     []Phase  `json:"phases"`
	After      Phase    `json:"after"`
	RecoveredS float64  `json:"recovered_s"` // seconds until the server was as small as before
	Duels      int      `json:"duels"`       // of honest players
	Violations []string `json:"violations"`
}

// Phase is a span of time.
type Phase struct {
	Name    string                     `json:"name"`
	Seconds float64                    `json:"seconds"`
	Control map[string]stats.Quantiles `json:"control"` // durations of the honest players, the control group
	Shed    int64                      `json:"shed"`    // honest reads and new guests that an overloaded server refused
	Most    Size                       `json:"most"`    // of the server
	Attacks []attack.Counts            `json:"attacks,omitempty"`
}

func (r *Report) addViolations(lines ...string) { r.Violations = append(r.Violations, lines...) }

// refused sums up the refusals of the attackers, by kind of refusal.
func (p Phase) refused() map[string]int64 {
	all := map[string]int64{}
	for _, t := range p.Attacks {
		for refusal, n := range t.Refused {
			all[refusal] += n
		}
	}
	return all
}

// Slow lists the phases in which the server was slow for honest players. In such a phase
// their 99th percentile is above floorMS and above twice that of the first phase. It also
// lists phases in which the server refused honest requests, or used more than mostMB.
func (r *Report) Slow(floorMS float64, mostMB int64) (all []string) {
	for _, p := range append(slices.Clone(r.Phases), r.After) {
		for _, kind := range []string{players.Answer, players.Board, players.Pong} {
			now, before := p.Control[kind].P99, r.Before.Control[kind].P99
			if now > max(2*before, floorMS) {
				all = append(all, fmt.Sprintf("%s: p99 of %s %.1f ms, %.1f before the attacks", p.Name, kind, now, before))
			}
		}
		if p.Shed > 0 {
			all = append(all, fmt.Sprintf("%s: %d honest reads and new guests were refused", p.Name, p.Shed))
		}
		if p.Most.MB > mostMB {
			all = append(all, fmt.Sprintf("%s: %d MB in use; the limit is %d", p.Name, p.Most.MB, mostMB))
		}
	}
	return all
}

// String formats the phase as a line.
func (p Phase) String() string {
	refused := p.refused()
	refusals := slices.Collect(maps.Keys(refused))
	slices.SortFunc(refusals, func(a, b string) int { return int(refused[b] - refused[a]) })
	for i, refusal := range refusals {
		refusals[i] = fmt.Sprintf("%s×%d", refusal, refused[refusal])
	}
	return fmt.Sprintf("%-16s %3.0f s, answers p99 %.1f ms, %s", p.Name, p.Seconds, p.Control[players.Answer].P99, strings.Join(refusals, ", "))
}

// String formats the report for people.
func (r Report) String() string {
	all := report.New(fmt.Sprintf("stress hostile: %d duels of honest players", r.Duels))
	table := all.Table("attack", report.Column{Name: "s"}, report.Column{Name: "sent/s"}, report.Column{Name: "answers"},
		report.Column{Name: "p50 ms", Decimals: 1}, report.Column{Name: "p99 ms", Decimals: 1},
		report.Column{Name: "reads p50 ms", Decimals: 1}, report.Column{Name: "reads p99 ms", Decimals: 1},
		report.Column{Name: "MB"}, report.Column{Name: "goroutines"}, report.Column{Name: "sockets"}, report.Column{Name: "files"})
	for _, p := range append(append([]Phase{r.Before}, r.Phases...), r.After) {
		sent := int64(0)
		for _, t := range p.Attacks {
			sent += t.Sent
		}
		answers, reads := p.Control[players.Answer], p.Control[players.Board]
		table.Add(p.Name, p.Seconds, float64(sent)/max(p.Seconds, 1), float64(answers.N), answers.P50, answers.P99, reads.P50, reads.P99,
			float64(p.Most.MB), float64(p.Most.Goroutines), float64(p.Most.Sockets), float64(p.Most.Files))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nthe server was as small as before within %.1f s\n", all, r.RecoveredS)
	for _, line := range r.Violations {
		fmt.Fprintln(&b, "VIOLATION "+line)
	}
	return b.String()
}
