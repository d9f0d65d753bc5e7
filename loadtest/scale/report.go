package main

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Report is the result of all measurements.
type Report struct {
	At      time.Time `json:"at"`
	Machine string    `json:"machine"`
	Players int       `json:"players"`
	Arenas  int       `json:"arenas"`
	Runs    []Run     `json:"runs"`
}

func newReport(o options) *Report {
	return &Report{
		At: time.Now(), Players: o.players, Arenas: o.arenas,
		Machine: fmt.Sprintf("%d cores, %s, %s; clients, nodes, Redis and PostgreSQL share it", runtime.NumCPU(), runtime.GOARCH, runtime.Version()),
	}
}

func (r *Report) head() string {
	return fmt.Sprintf("machine: %s\n%d players, in %d arenas or duels\n\n%-8s %5s %-8s %7s | %9s %8s %8s | %s\n", r.Machine, r.Players, r.Arenas,
		"store", "nodes", "", "offered", "answers/s", "p50 ms", "p99 ms", "cores of nodes; Redis; PostgreSQL, clients; idle")
}

// line formats the work and the use of a run.
func (r Run) line() string {
	offered := "most"
	if r.Offered > 0 {
		offered = fmt.Sprint(r.Offered)
	}
	if r.Kind == atRest {
		offered = ""
	}
	return fmt.Sprintf("%-8s %5d %-8s %7s | %9.0f %8.2f %8.2f | %.2f; %.2f; %.2f, %.2f; %.0f%%\n", r.Store, r.Nodes, r.Kind, offered, r.Rate, r.P50, r.P99,
		r.Use.Nodes, r.Use.Redis, r.Use.Postgres, r.Use.Clients, 100*r.Use.Idle)
}

// String returns the costs per answer, and per second at rest.
func (r *Report) String() string {
	var b strings.Builder
	for _, kind := range []string{atRest, "arenas", "duels"} {
		of := slices.DeleteFunc(slices.Clone(r.Runs), func(one Run) bool { return one.Kind != kind })
		if len(of) == 0 {
			continue
		}
		each := "an answer"
		if kind == atRest {
			each = "a second"
		}
		fmt.Fprintf(&b, "\n%s: %s\n%-8s %5s %7s | %8s %8s %8s %8s | %7s %8s %8s %8s | %8s %6s %6s %6s %6s | %6s %8s %8s\n", kind, each, "store", "nodes", "offered",
			"nodes µs", "Redis µs", "PG µs", "clients", "reads", "commands", "bytes in", "out", "messages", "steps", "lost", "gaps", "rows", "worst", "B/match", "B/answer")
		for _, one := range of {
			c := one.Cost
			fmt.Fprintf(&b, "%-8s %5d %7d | %8.1f %8.1f %8.1f %8.1f | %7.2f %8.2f %8.0f %8.0f | %8.3f %6.2f %6.2f %6.2f %6.2f | %6.2f %8.0f %8.0f\n", one.Store, one.Nodes, one.Offered,
				c.NodesUS, c.RedisUS, c.PostgresUS, c.ClientsUS, c.Reads, c.Commands, c.In, c.Out, c.Messages, c.Steps, c.Lost, c.Gaps, c.Rows, one.Worst, one.BytesMatch, one.BytesAnswer)
		}
		last := of[len(of)-1]
		fmt.Fprintf(&b, "commands of the last: %s\n", most(last.Cost.Calls, 8))
	}
	return b.String()
}

// most returns the n commands with the most calls.
func most(calls map[string]float64, n int) string {
	names := slices.SortedFunc(maps.Keys(calls), func(a, b string) int {
		switch {
		case calls[a] > calls[b]:
			return -1
		case calls[a] < calls[b]:
			return 1
		}
		return strings.Compare(a, b)
	})
	var all []string
	for _, name := range names[:min(n, len(names))] {
		all = append(all, fmt.Sprintf("%s %.2f", name, calls[name]))
	}
	return strings.Join(all, ", ")
}
