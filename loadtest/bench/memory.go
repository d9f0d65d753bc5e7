package bench

import (
	"context"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/report"
)

// memory is the memory that a process uses, in bytes, and its goroutines, after a garbage
// collection.
type memory struct{ resident, heap, stacks, goroutines float64 }

type connectionTables struct{ memory, serveTimes *report.Table }

func newConnectionTables(r *report.Report) connectionTables {
	return connectionTables{
		r.Table("bytes of a connection", report.Column{Name: "connections"}, report.Column{Name: "resident"}, report.Column{Name: "heap"},
			report.Column{Name: "stacks"}, report.Column{Name: "goroutines", Decimals: 3}),
		r.Table("until a client is served", report.Column{Name: "clients"}, report.Column{Name: "seconds", Decimals: 1}, report.Column{Name: "p50 ms", Decimals: 1},
			report.Column{Name: "p99 ms", Decimals: 1}, report.Column{Name: "max ms", Decimals: 1}, report.Column{Name: "refusals"}),
	}
}

// addMemory adds the growth of a process, divided by its connections.
func (r connectionTables) addMemory(row string, connections int, before, after memory) {
	n := float64(connections)
	r.memory.Add(row, n, (after.resident-before.resident)/n, (after.heap-before.heap)/n, (after.stacks-before.stacks)/n, (after.goroutines-before.goroutines)/n)
}

// addServeTimes adds a row for clients that came at the same time: how long each waited.
func (r connectionTables) addServeTimes(row string, q report.Quantiles, took time.Duration, refusals int64) {
	r.serveTimes.Add(row, float64(q.N), took.Seconds(), q.P50, q.P99, q.Max, float64(refusals))
}

// steadyMemory waits until the memory of the first node, or of the peer, no longer changes.
// Each collection halves unused stacks, and free memory returns to the system after a while.
func (c *cluster) steadyMemory(ctx context.Context) (m memory, err error) {
	const pause, steadyReadings, maxReadings = 300 * time.Millisecond, 4, 40
	steady := 0
	for i := 0; i < maxReadings && steady < steadyReadings; i++ {
		last := m
		if m, err = c.readMemory(ctx); err != nil {
			return m, err
		}
		if steady++; i == 0 || m.resident < last.resident*0.995 || m.stacks < last.stacks*0.995 {
			steady = 0
		}
		time.Sleep(pause)
	}
	return m, nil
}

func (c *cluster) readMemory(ctx context.Context) (m memory, err error) {
	if err := c.nodes[0].CollectGarbage(ctx); err != nil {
		return m, err
	}
	all, err := c.nodes[0].Metrics(ctx)
	if err != nil {
		return m, err
	}
	resident, err := testenv.ResidentBytes(c.nodes[0].PID())
	return memory{float64(resident), all["go_memstats_heap_alloc_bytes"], all["go_memstats_stack_inuse_bytes"], all["go_goroutines"]}, err
}
