package stress

import (
	"context"
	"os"
	"time"

	"laststand/internal/testenv"
)

// Use is what a process uses at one time.
type Use struct {
	Cores      float64 `json:"cores"`             // since the last sample
	MB         float64 `json:"mb"`                // resident
	HeapMB     float64 `json:"heap_mb,omitempty"` // live heap after the last collection
	Goroutines float64 `json:"goroutines,omitempty"`
	Sessions   float64 `json:"sessions,omitempty"`
	LagMS      float64 `json:"lag_ms,omitempty"` // p99 of the time that goroutines wait for a processor

	cpu time.Duration // used so far
}

// Sample is what all processes use at one time.
type Sample struct {
	AtS     float64 `json:"at_s"`
	Nodes   []Use   `json:"nodes"`
	Redis   Use     `json:"redis"`
	Clients Use     `json:"clients"`
	Playing int64   `json:"playing"` // players in matches
}

// sampleUntilDone takes a sample in each span until the context ends.
func (s *swarm) sampleUntilDone(ctx context.Context) {
	last := Sample{Nodes: make([]Use, len(s.cluster.Ops))}
	for pause(ctx, s.stats.Length()) == nil {
		last = s.sample(ctx, last)
		s.mu.Lock()
		s.samples = append(s.samples, last)
		s.mu.Unlock()
	}
}

// sample samples all processes. A value that cannot be read is 0.
func (s *swarm) sample(ctx context.Context, last Sample) Sample {
	now := Sample{AtS: s.stats.Seconds(), Playing: s.group.Playing.Load()}
	seconds := now.AtS - last.AtS
	for i, ops := range s.cluster.Ops {
		var u Use
		if i < len(s.cluster.nodes) {
			u = last.Nodes[i].next(s.cluster.nodes[i].PID(), seconds)
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
		now.Nodes = append(now.Nodes, u)
	}
	if s.cluster.redisPID != 0 {
		now.Redis = last.Redis.next(s.cluster.redisPID, seconds)
	}
	now.Clients = last.Clients.next(os.Getpid(), seconds)
	return now
}

// next returns what the process uses some seconds after a sample.
func (u Use) next(pid int, seconds float64) (now Use) {
	now.cpu, _ = testenv.CPUTime(pid) // a process that has ended uses nothing
	if u.cpu > 0 && now.cpu > 0 {
		now.Cores = (now.cpu - u.cpu).Seconds() / max(seconds, 1e-9)
	}
	if bytes, err := testenv.ResidentBytes(pid); err == nil {
		now.MB = float64(bytes) / (1 << 20)
	}
	return now
}

// meanUse returns the mean use of all nodes together, of Redis and of the clients between
// two spans. The lag of the nodes is their mean.
func (r *run) meanUse(from, to int) (nodes, redis, clients Use) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Sample
	for _, s := range r.samples {
		if span := int(s.AtS / r.stats.Length().Seconds()); span > from && span <= to {
			all = append(all, s)
		}
	}
	n := float64(max(len(all), 1))
	for _, s := range all {
		for _, u := range s.Nodes {
			nodes.Cores += u.Cores / n
			nodes.LagMS += u.LagMS / n / float64(len(s.Nodes))
		}
		redis.Cores += s.Redis.Cores / n
		clients.Cores += s.Clients.Cores / n
	}
	return nodes, redis, clients
}
