package runner

import (
	"context"
	"fmt"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/swarm/rules"
)

// Use is what a process uses at one time.
type Use struct {
	Cores      float64 `json:"cores"`             // since the last sample
	MB         float64 `json:"mb"`                // resident
	HeapMB     float64 `json:"heap_mb,omitempty"` // live heap after the last collection
	Goroutines float64 `json:"goroutines,omitempty"`
	Sessions   float64 `json:"sessions,omitempty"`
	LagMS      float64 `json:"lag_ms,omitempty"` // p99 of the time that goroutines wait for a processor
}

// Sample is what all processes use at one time.
type Sample struct {
	AtS     float64 `json:"at_s"`
	Nodes   []Use   `json:"nodes"`
	Redis   Use     `json:"redis"`
	Clients Use     `json:"clients"` // all client processes together
	Playing int64   `json:"playing"` // players in matches
}

// sampler reads what processes use. It is not safe for concurrent use.
type sampler struct {
	environment *environment
	processes   []Process
	began       time.Time
	last        time.Time
	cpuTimes    map[int]time.Duration // by process id
}

// sampleUntilDone takes samples until the context ends.
func (d *runner) sampleUntilDone(ctx context.Context) {
	g := newSampler(d.environment, d.began)
	for _, l := range d.workers {
		g.processes = append(g.processes, l.Process)
	}
	tick := time.NewTicker(d.series.Every())
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			one := g.sample(ctx)
			for _, l := range d.workers {
				one.Playing += l.playing.Load()
			}
			d.mu.Lock()
			d.samples = append(d.samples, one)
			d.mu.Unlock()
		}
	}
}

func newSampler(s *environment, began time.Time) *sampler {
	return &sampler{environment: s, began: began, last: time.Now(), cpuTimes: make(map[int]time.Duration)}
}

// sample samples all processes. A value that cannot be read is 0.
func (g *sampler) sample(ctx context.Context) Sample {
	now := time.Now()
	span := now.Sub(g.last)
	g.last = now
	out := Sample{AtS: now.Sub(g.began).Seconds()}
	for i, ops := range g.environment.ops {
		var u Use
		if i < len(g.environment.servers) {
			u = g.sampleProcess(g.environment.servers[i].PID(), span)
		}
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		m, err := testenv.ReadMetrics(ctx, ops)
		cancel()
		if err == nil {
			u.Goroutines = m.Sum("go_goroutines")
			u.HeapMB = m.Sum("go_gc_heap_live_bytes") / (1 << 20)
			u.Sessions = m.Sum("laststand_ws_sessions")
			u.LagMS = 1000 * m.Sum("laststand_load_shed_scheduler_lag_seconds")
		}
		out.Nodes = append(out.Nodes, u)
	}
	if g.environment.redis != 0 {
		out.Redis = g.sampleProcess(g.environment.redis, span)
	}
	for _, p := range g.processes {
		if p.ID() != 0 {
			u := g.sampleProcess(p.ID(), span)
			out.Clients.Cores += u.Cores
			out.Clients.MB += u.MB
		}
	}
	return out
}

func (g *sampler) sampleProcess(id int, span time.Duration) (u Use) {
	taken, err := testenv.CPUTime(id)
	if err != nil {
		return u
	}
	if before, ok := g.cpuTimes[id]; ok && span > 0 {
		u.Cores = float64(taken-before) / float64(span)
	}
	g.cpuTimes[id] = taken
	if bytes, err := testenv.ResidentBytes(id); err == nil {
		u.MB = float64(bytes) / (1 << 20)
	}
	return u
}

// coreUse is the mean number of cores that each group used, and the lag of the nodes.
type coreUse struct{ nodes, redis, players, lag float64 }

func (c coreUse) String() string {
	return fmt.Sprintf("%.2f cores of the nodes, %.2f of Redis, %.2f of the players; a lag of %.1f ms", c.nodes, c.redis, c.players, c.lag)
}

// usedBetween returns the use between two spans. Each span has a sample.
func (d *runner) usedBetween(from, to int) (c coreUse) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0.0
	for _, g := range d.samples {
		if span := int(g.AtS / d.series.Every().Seconds()); span <= from || span > to {
			continue
		}
		n++
		for _, u := range g.Nodes {
			c.nodes += u.Cores
			c.lag += u.LagMS / float64(len(g.Nodes))
		}
		c.redis += g.Redis.Cores
		c.players += g.Clients.Cores
	}
	n = max(n, 1)
	return coreUse{c.nodes / n, c.redis / n, c.players / n, c.lag / n}
}

// flow reads the behaviour counts. Every node knows the counts of all nodes.
func (s *environment) flow(ctx context.Context) (f rules.Flow, err error) {
	m, err := testenv.ReadMetrics(ctx, s.ops[0])
	if err != nil {
		return f, err
	}
	field := func(name string) int64 { return int64(m.Sum("laststand_behaviours_"+name, `game="demo"`)) }
	return rules.Flow{
		Offered: field("offered_total"), Sent: field("sent_total"), Dropped: field("dropped_total"), Queued: field("queued"), InFlight: field("in_flight"),
	}, nil
}
