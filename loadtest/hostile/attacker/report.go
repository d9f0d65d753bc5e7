package attacker

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"laststand/loadtest/hostile/attack"
	"laststand/loadtest/hostile/control"
)

// Report is the result of a run.
type Report struct {
	Before     Phase         `json:"before"`
	Phases     []Phase       `json:"phases"`
	After      Phase         `json:"after"`
	Back       time.Duration `json:"back_ns"` // the time that the server took to recover
	Duels      int           `json:"duels"`   // duels of honest players, each counted for both players
	Violations []string      `json:"violations"`
}

// Phase is a span of time.
type Phase struct {
	Name    string               `json:"name"`
	Seconds float64              `json:"seconds"`
	Control control.Measurements `json:"control"`
	Most    Size                 `json:"most"` // the server's
	Attacks []attack.Counts      `json:"attacks,omitempty"`
}

func (r *Report) addViolations(lines ...string) { r.Violations = append(r.Violations, lines...) }

// refused sums up the refusals of the attackers, by kind of refusal.
func (r *Report) refused() map[string]int64 {
	all := map[string]int64{}
	for _, p := range r.Phases {
		for how, n := range p.refused() {
			all[how] += n
		}
	}
	return all
}

func (p Phase) refused() map[string]int64 {
	all := map[string]int64{}
	for _, t := range p.Attacks {
		for how, n := range t.Refused {
			all[how] += n
		}
	}
	return all
}

// Slow lists the phases in which the server was slow for honest players. In such a phase
// their 99th percentile is above floorMS and above twice that of the idle. It also lists
// phases in which the server postponed honest requests, or used more than mostMB.
func (r *Report) Slow(floorMS float64, mostMB int64) (all []string) {
	for _, p := range append(slices.Clone(r.Phases), r.After) {
		for _, of := range []struct {
			what      string
			now, idle control.Times
		}{
			{"answers", p.Control.Answers, r.Before.Control.Answers}, {"reads", p.Control.Reads, r.Before.Control.Reads}, {"pongs", p.Control.Pongs, r.Before.Control.Pongs},
		} {
			if most := max(2*of.idle.P99, floorMS); of.now.P99 > most {
				all = append(all, fmt.Sprintf("%s: p99 of %s %.1f ms, %.1f in the idle", p.Name, of.what, of.now.P99, of.idle.P99))
			}
		}
		if p.Control.Shed > 0 {
			all = append(all, fmt.Sprintf("%s: %d honest reads and arrivals were put off", p.Name, p.Control.Shed))
		}
		if p.Most.MB > mostMB {
			all = append(all, fmt.Sprintf("%s: %d MB in use, at most %d may be", p.Name, p.Most.MB, mostMB))
		}
	}
	return all
}

// head is the first line of a table of phases.
const head = "                    s    sent/s   answers n  p50  p99 ms     reads p50  p99 ms    MB  gorout. sockets  files  refused"

// String formats the phase as a line of the table.
func (p Phase) String() string {
	sent := int64(0)
	for _, t := range p.Attacks {
		sent += t.Sent
	}
	refused := p.refused()
	how := slices.Collect(maps.Keys(refused))
	slices.SortFunc(how, func(a, b string) int { return int(refused[b] - refused[a]) })
	for i, of := range how {
		how[i] = fmt.Sprintf("%s×%d", of, refused[of])
	}
	return fmt.Sprintf("%-16s %4.0f %9.0f %11d %4.1f %7.1f %13.1f %7.1f %5d %8d %7d %6d  %s", p.Name, p.Seconds, float64(sent)/max(p.Seconds, 1),
		p.Control.Answers.N, p.Control.Answers.P50, p.Control.Answers.P99, p.Control.Reads.P50, p.Control.Reads.P99,
		p.Most.MB, p.Most.Goroutines, p.Most.Sockets, p.Most.Files, strings.Join(how, ", "))
}

// String formats the report as a table.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, head)
	fmt.Fprintln(&b, r.Before)
	for _, p := range r.Phases {
		fmt.Fprintln(&b, p)
	}
	fmt.Fprintln(&b, r.After)
	fmt.Fprintf(&b, "what it was within %s; honest players have played %d duels\n", r.Back.Round(100*time.Millisecond), r.Duels/2)
	for _, line := range r.Violations {
		fmt.Fprintln(&b, "UNTRUE  "+line)
	}
	return b.String()
}
