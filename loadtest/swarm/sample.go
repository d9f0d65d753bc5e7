package swarm

import (
	"context"
	"fmt"
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
}

// Sample is what all processes use at one time.
type Sample struct {
	AtS     float64 `json:"at_s"`
	Nodes   []Use   `json:"nodes"`
	Redis   Use     `json:"redis"`
	Clients Use     `json:"clients"` // all processes of clients together
	Playing int64   `json:"playing"` // players in matches
}

// sampler reads what processes use. It is not safe for concurrent use.
type sampler struct {
	*swarm
	last     time.Time
	cpuTimes map[int]time.Duration // by process id
}

// sampleUntilDone takes a sample in each span until the context ends.
func (s *swarm) sampleUntilDone(ctx context.Context, clientPIDs []int) {
	sampler := &sampler{swarm: s, last: time.Now(), cpuTimes: make(map[int]time.Duration)}
	tick := time.NewTicker(s.stats.Length())
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			one := sampler.sample(ctx, clientPIDs)
			s.mu.Lock()
			s.samples = append(s.samples, one)
			s.mu.Unlock()
		}
	}
}

// sample samples all processes. A value that cannot be read is 0.
func (s *sampler) sample(ctx context.Context, clientPIDs []int) Sample {
	now := time.Now()
	since := now.Sub(s.last)
	s.last = now
	out := Sample{AtS: s.stats.Seconds(), Playing: s.group.Playing.Load()}
	for i, ops := range s.nodes.ops {
		var u Use
		if i < len(s.nodes.started) {
			u = s.use(s.nodes.started[i].PID(), since)
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
	if s.nodes.redisPID != 0 {
		out.Redis = s.use(s.nodes.redisPID, since)
	}
	for _, pid := range clientPIDs {
		u := s.use(pid, since)
		out.Clients.Cores += u.Cores
		out.Clients.MB += u.MB
	}
	return out
}

func (s *sampler) use(pid int, since time.Duration) (u Use) {
	used, err := testenv.CPUTime(pid)
	if err != nil {
		return u
	}
	if before, ok := s.cpuTimes[pid]; ok && since > 0 {
		u.Cores = float64(used-before) / float64(since)
	}
	s.cpuTimes[pid] = used
	if bytes, err := testenv.ResidentBytes(pid); err == nil {
		u.MB = float64(bytes) / (1 << 20)
	}
	return u
}

// describeUse describes the mean number of cores that each group used between two spans,
// and the lag of the nodes.
func (s *swarm) describeUse(from, to int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var n, nodes, redis, clients, lag float64
	for _, one := range s.samples {
		if span := int(one.AtS / s.stats.Length().Seconds()); span <= from || span > to {
			continue
		}
		n++
		for _, u := range one.Nodes {
			nodes += u.Cores
			lag += u.LagMS / float64(len(one.Nodes))
		}
		redis += one.Redis.Cores
		clients += one.Clients.Cores
	}
	n = max(n, 1)
	return fmt.Sprintf("%.2f cores of the nodes, %.2f of Redis, %.2f of the clients; a lag of %.1f ms", nodes/n, redis/n, clients/n, lag/n)
}
