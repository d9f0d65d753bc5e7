package main

import (
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// cost is the cost of one answer, or of one second at rest.
type cost struct {
	NodesUS    float64 `json:"nodes_us"` // µs of a core, all nodes together
	RedisUS    float64 `json:"redis_us"`
	PostgresUS float64 `json:"postgres_us"`
	ClientsUS  float64 `json:"clients_us"`
	Reads      float64 `json:"redis_reads"`    // reads from its connections
	Commands   float64 `json:"redis_commands"` // including those in scripts
	In         float64 `json:"redis_in_bytes"`
	Out        float64 `json:"redis_out_bytes"`
	Messages   float64 `json:"messages"` // between nodes
	Published  float64 `json:"published"`
	Steps      float64 `json:"steps"`       // match steps
	Lost       float64 `json:"steps_lost"`  // lost because another node had taken the step
	Gaps       float64 `json:"gaps"`        // pushes read from the log
	Rows       float64 `json:"ledger_rows"` // rows written

	Calls map[string]float64 `json:"redis_calls"` // calls by command
}

// use is the number of cores that each group used.
type use struct {
	Nodes    []float64 `json:"nodes"`
	Redis    []float64 `json:"redis"` // one per master
	Postgres float64   `json:"postgres"`
	Clients  float64   `json:"clients"`
	Idle     float64   `json:"machine_idle_share"`
}

// Run is the result of one kind at one rate.
type Run struct {
	Store   string  `json:"store"`
	Nodes   int     `json:"nodes"`
	Kind    string  `json:"kind"`
	Offered int     `json:"offered_per_s"` // answers; 0: as many as possible, or none at rest
	Rate    float64 `json:"answers_per_s"`
	P50     float64 `json:"p50_ms"`
	P99     float64 `json:"p99_ms"`

	Cost  cost    `json:"cost"` // per answer; at rest, per second
	Use   use     `json:"cores"`
	Worst float64 `json:"busiest_master_by_mean"` // by number of commands

	BytesMatch  float64 `json:"redis_bytes_a_match,omitempty"`   // by all matches so far
	BytesAnswer float64 `json:"redis_bytes_an_answer,omitempty"` // by all answers so far
	Matches     float64 `json:"matches_begun,omitempty"`
}

// atRest is the kind of a run without players.
const atRest = "at rest"

// between returns the work between two readings, divided by n.
func between(from, to reading, n float64) (c cost, u use) {
	span := to.at.Sub(from.at)
	us := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) / n }
	cores := func(d time.Duration) float64 { return float64(d) / float64(span) }
	for i := range to.nodes {
		took := to.nodes[i] - from.nodes[i]
		c.NodesUS += us(took)
		u.Nodes = append(u.Nodes, cores(took))
	}
	c.Calls = make(map[string]float64)
	for i, m := range to.masters {
		before := from.masters[i]
		c.RedisUS += us(m.cpu - before.cpu)
		u.Redis = append(u.Redis, cores(m.cpu-before.cpu))
		c.Reads += float64(m.reads-before.reads) / n
		c.Commands += float64(m.commands-before.commands) / n
		c.In += float64(m.in-before.in) / n
		c.Out += float64(m.out-before.out) / n
		c.Published += float64(m.published-before.published) / n
		for command, calls := range m.calls {
			if done := float64(calls-before.calls[command]) / n; done > 0 {
				c.Calls[command] += done
			}
		}
	}
	c.PostgresUS, u.Postgres = us(to.postgres-from.postgres), cores(to.postgres-from.postgres)
	c.ClientsUS, u.Clients = us(to.clients-from.clients), cores(to.clients-from.clients)
	c.Messages, c.Rows = (to.messages-from.messages)/n, float64(to.rows-from.rows)/n
	c.Steps, c.Lost, c.Gaps = (to.steps-from.steps)/n, (to.lost-from.lost)/n, (to.gaps-from.gaps)/n
	idle, busy := to.machine.Idle-from.machine.Idle, to.machine.Busy-from.machine.Busy
	u.Idle = float64(idle) / float64(max(idle+busy, 1))
	return c, u
}

// run makes a run from two readings and the latencies (µs).
func run(from, to reading, latency *hdrhistogram.Histogram) (r Run) {
	n := latency.TotalCount()
	r.Rate = float64(n) / to.at.Sub(from.at).Seconds()
	r.P50, r.P99 = float64(latency.ValueAtQuantile(50))/1000, float64(latency.ValueAtQuantile(99))/1000
	r.Cost, r.Use = between(from, to, float64(n))
	r.Worst = worst(from, to)
	return r
}

// worst returns the commands of the busiest master divided by the mean of all masters.
func worst(from, to reading) float64 {
	var all []float64
	var sum float64
	for i, m := range to.masters {
		done := float64(m.commands - from.masters[i].commands)
		all, sum = append(all, done), sum+done
	}
	return slices.Max(all) * float64(len(all)) / max(sum, 1)
}

// memory returns the memory of all masters.
func (r reading) memory() (bytes float64) {
	for _, m := range r.masters {
		bytes += float64(m.memory)
	}
	return bytes
}
