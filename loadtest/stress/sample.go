package stress

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"laststand/internal/testenv"
)

// Use is what processes use at one time.
type Use struct {
	Cores      float64 // since the last sample
	MB         float64 // resident
	Goroutines float64
	Sessions   float64
	Sockets    float64 // of players and of all other clients
	Files      float64 // open descriptors: sockets and the pools of the stores too
	LagMS      float64 // p99 of the time that goroutines wait for a processor

	cpu time.Duration // used so far
}

// Sample is what all processes use at one time.
type Sample struct {
	AtS            float64
	Nodes          []Use
	Redis, Clients Use
	Playing        int64 // players in matches
}

// sampler holds the samples of a run. It is safe for concurrent use.
type sampler struct {
	mu  sync.Mutex
	all []Sample
}

// between returns the samples after one time and up to another.
func (s *sampler) between(fromS, toS float64) []Sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.all), func(s Sample) bool { return s.AtS <= fromS || s.AtS > toS })
}

func (s *sampler) add(one Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, one)
}

// sampleUntilDone takes a sample in each interval until the context ends.
func (r *run) sampleUntilDone(ctx context.Context, interval time.Duration) {
	last := Sample{Nodes: make([]Use, len(r.cluster.nodes))}
	for pause(ctx, interval) == nil {
		last = r.sample(ctx, last)
		r.sampler.add(last)
	}
}

// sample samples all processes. A value that cannot be read is 0.
func (r *run) sample(ctx context.Context, last Sample) Sample {
	now := Sample{AtS: r.stats.Seconds(), Playing: r.group.Playing.Load()}
	seconds := now.AtS - last.AtS
	for i, n := range r.cluster.nodes {
		u, _ := sampleNode(ctx, n)
		u.addProcesses(last.Nodes[i], seconds, n.PID())
		now.Nodes = append(now.Nodes, u)
	}
	now.Redis.addProcesses(last.Redis, seconds, r.cluster.redis...)
	now.Clients.addProcesses(last.Clients, seconds, os.Getpid())
	return now
}

// sampleNode reads the metrics of a node.
func sampleNode(ctx context.Context, n *testenv.Node) (u Use, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	m, err := n.Metrics(ctx)
	if err != nil {
		return u, err
	}
	u.Goroutines, u.Files, u.Sockets = m.Sum("go_goroutines"), m.Sum("process_open_fds"), m.Sum("laststand_connections")
	u.Sessions = m.Sum("laststand_ws_sessions")
	u.LagMS = 1000 * m.Sum("laststand_load_shed_scheduler_lag_seconds")
	return u, nil
}

// addProcesses adds the memory of processes, and the cores that they have used in the seconds
// since the last sample. A process that has ended uses nothing.
func (u *Use) addProcesses(last Use, seconds float64, pids ...int) {
	for _, pid := range pids {
		cpu, _ := testenv.CPUTime(pid)
		bytes, _ := testenv.ResidentBytes(pid)
		u.cpu += cpu
		u.MB += float64(bytes) / (1 << 20)
	}
	if last.cpu > 0 && u.cpu > last.cpu {
		u.Cores = (u.cpu - last.cpu).Seconds() / max(seconds, 1e-9)
	}
}

// most returns the highest values.
func (u Use) most(other Use) Use {
	return Use{
		MB: max(u.MB, other.MB), Sessions: max(u.Sessions, other.Sessions), Goroutines: max(u.Goroutines, other.Goroutines),
		Sockets: max(u.Sockets, other.Sockets), Files: max(u.Files, other.Files),
	}
}

// meanUse returns the mean use of all nodes together, of Redis and of the clients in some
// samples. The lag of the nodes is their mean.
func meanUse(all []Sample) (nodes, redis, clients Use) {
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
