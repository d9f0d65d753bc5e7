package bench

import (
	"context"
	"os"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/client"
)

// memory is the memory that a process uses, in bytes, after a garbage collection.
type memory struct {
	Resident   float64 `json:"resident"`
	Heap       float64 `json:"heap"`
	Stacks     float64 `json:"stacks"`
	Goroutines float64 `json:"goroutines"`
}

// addMemory adds the growth of a process, divided by its connections.
func (r connectionTables) addMemory(row string, connections int, before, after memory) {
	n := float64(connections)
	r.memory.Add(row, n, (after.Resident-before.Resident)/n, (after.Heap-before.Heap)/n, (after.Stacks-before.Stacks)/n, (after.Goroutines-before.Goroutines)/n)
}

// steadyMemory waits until the memory of the first node, or of the peer, no longer changes.
// Each collection halves unused stacks, and free memory returns to the system after a while.
// If a profile is named, it writes the heap profile of the node.
func (c *cluster) steadyMemory(ctx context.Context, profile string) (m memory, err error) {
	const pause, steadyReadings, maxReadings = 300 * time.Millisecond, 4, 40
	steady := 0
	for i := 0; i < maxReadings && steady < steadyReadings; i++ {
		last := m
		if m, err = c.readMemory(ctx, profile); err != nil {
			return m, err
		}
		if steady++; i == 0 || m.Resident < last.Resident*0.995 || m.Stacks < last.Stacks*0.995 {
			steady = 0
		}
		time.Sleep(pause)
	}
	return m, nil
}

func (c *cluster) readMemory(ctx context.Context, profile string) (m memory, err error) {
	if c.floor != nil {
		err = client.GetJSON(ctx, c.urls[0]+"/memory", &m)
	} else {
		m, err = c.readNodeMemory(ctx, profile)
	}
	if err != nil {
		return m, err
	}
	resident, err := testenv.ResidentBytes(c.pids[0])
	m.Resident = float64(resident)
	return m, err
}

func (c *cluster) readNodeMemory(ctx context.Context, profile string) (m memory, err error) {
	heap, err := c.node().Heap(ctx) // this collects the garbage
	if err != nil {
		return m, err
	}
	if profile != "" {
		if err := os.WriteFile(profile, heap, 0o600); err != nil {
			return m, err
		}
	}
	all, err := c.node().Metrics(ctx)
	if err != nil {
		return m, err
	}
	return memory{Heap: all["go_memstats_heap_alloc_bytes"], Stacks: all["go_memstats_stack_inuse_bytes"], Goroutines: all["go_goroutines"]}, nil
}
