package drill

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"laststand/loadtest/rig"
	"laststand/loadtest/swarm/truth"
)

// Use is what a process uses at an instant.
type Use struct {
	Cores      float64 `json:"cores"`             // since the last one
	MB         float64 `json:"mb"`                // resident
	HeapMB     float64 `json:"heap_mb,omitempty"` // alive at the last collection
	Goroutines float64 `json:"goroutines,omitempty"`
	Sessions   float64 `json:"sessions,omitempty"`
	LagMS      float64 `json:"lag_ms,omitempty"` // that goroutines wait for a processor, 99 in 100
}

// Gauge is what all use at an instant.
type Gauge struct {
	AtS     float64 `json:"at_s"`
	Nodes   []Use   `json:"nodes"`
	Redis   Use     `json:"redis"`
	Clients Use     `json:"clients"` // all crowds together
	Playing int64   `json:"playing"` // in matches
}

// gauges read what processes use. They are not safe for concurrent use.
type gauges struct {
	stage  *stage
	crowds []Process
	began  time.Time
	last   time.Time
	taken  map[int]time.Duration // by process
}

// watch reads the gauges until the context ends.
func (d *drill) watch(ctx context.Context) {
	g := newGauges(d.stage, d.began)
	for _, l := range d.crowds {
		g.crowds = append(g.crowds, l.Process)
	}
	tick := time.NewTicker(d.series.Every())
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			one := g.read(ctx)
			for _, l := range d.crowds {
				one.Playing += l.playing.Load()
			}
			d.mu.Lock()
			d.gauges = append(d.gauges, one)
			d.mu.Unlock()
		}
	}
}

func newGauges(s *stage, began time.Time) *gauges {
	return &gauges{stage: s, began: began, last: time.Now(), taken: make(map[int]time.Duration)}
}

// read reads all of them; what cannot be read is 0.
func (g *gauges) read(ctx context.Context) Gauge {
	now := time.Now()
	span := now.Sub(g.last)
	g.last = now
	out := Gauge{AtS: now.Sub(g.began).Seconds()}
	for i, ops := range g.stage.ops {
		var u Use
		if i < len(g.stage.servers) {
			u = g.process(g.stage.servers[i].Process(), span)
		}
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		m, err := rig.ReadMetrics(ctx, ops)
		cancel()
		if err == nil {
			u.Goroutines = m.Sum("go_goroutines")
			u.HeapMB = m.Sum("go_gc_heap_live_bytes") / (1 << 20)
			u.Sessions = m.Sum("laststand_ws_sessions")
			u.LagMS = 1000 * m.Sum("laststand_load_shed_scheduler_lag_seconds")
		}
		out.Nodes = append(out.Nodes, u)
	}
	if g.stage.redis != 0 {
		out.Redis = g.process(g.stage.redis, span)
	}
	for _, p := range g.crowds {
		if p.ID() != 0 {
			u := g.process(p.ID(), span)
			out.Clients.Cores += u.Cores
			out.Clients.MB += u.MB
		}
	}
	return out
}

func (g *gauges) process(id int, span time.Duration) (u Use) {
	taken, err := rig.Taken(strconv.Itoa(id))
	if err != nil {
		return u
	}
	if before, ok := g.taken[id]; ok && span > 0 {
		u.Cores = float64(taken-before) / float64(span)
	}
	g.taken[id] = taken
	if bytes, err := rig.Resident(id); err == nil {
		u.MB = float64(bytes) / (1 << 20)
	}
	return u
}

// cores are those that all used on the mean, and the lag of the nodes.
type cores struct{ nodes, redis, players, lag float64 }

func (c cores) String() string {
	return fmt.Sprintf("%.2f cores of the nodes, %.2f of Redis, %.2f of the players; a lag of %.1f ms", c.nodes, c.redis, c.players, c.lag)
}

// took is what was used between two spans, of which each has a gauge.
func (d *drill) took(from, to int) (c cores) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0.0
	for _, g := range d.gauges {
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
	return cores{c.nodes / n, c.redis / n, c.players / n, c.lag / n}
}

// flow reads what became of behaviours; every node knows of all.
func (s *stage) flow(ctx context.Context) (f truth.Flow, err error) {
	m, err := rig.ReadMetrics(ctx, s.ops[0])
	if err != nil {
		return f, err
	}
	of := func(what string) int64 { return int64(m.Sum("laststand_behaviours_"+what, `game="demo"`)) }
	return truth.Flow{
		Offered: of("offered_total"), Sent: of("sent_total"), Dropped: of("dropped_total"), Queued: of("queued"), InFlight: of("in_flight"),
	}, nil
}
