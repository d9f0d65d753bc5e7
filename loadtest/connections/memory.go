package main

import (
	"context"
	"fmt"
	"time"

	"laststand/loadtest/harness"
)

// memory is the memory that a process uses, in bytes.
type memory struct {
	Resident   float64 `json:"resident"`
	Heap       float64 `json:"heap"` // after a garbage collection
	Stacks     float64 `json:"stacks"`
	Goroutines float64 `json:"goroutines"`

	sites sites // of the heap; nil unless requested
}

// row is the memory of a process per connection, for a number of connections.
type row struct {
	Name        string `json:"name"`
	Connections int    `json:"connections"`
	Each        memory `json:"each"`
}

func (r *report) grown(name string, connections int, before, after memory) {
	n := float64(connections)
	each := memory{
		(after.Resident - before.Resident) / n, (after.Heap - before.Heap) / n,
		(after.Stacks - before.Stacks) / n, (after.Goroutines - before.Goroutines) / n, nil,
	}
	r.Memory = append(r.Memory, row{name, connections, each})
	fmt.Printf("%-18s %12d %10.0f %10.0f %10.0f %12.3f\n", name, connections, each.Resident, each.Heap, each.Stacks, each.Goroutines)
	if after.sites != nil {
		after.sites.show(before.sites, connections)
	}
}

// target is a server whose connections are measured. Its memory method collects the garbage
// first.
type target interface {
	url() string
	memory(ctx context.Context) (memory, error)
	stop()
}

// rest waits until the memory of a server no longer changes. Each collection halves unused
// stacks, and free memory returns to the system after a while.
func rest(ctx context.Context, t target) (m memory, err error) {
	const pause, steady, most = 300 * time.Millisecond, 3, 40
	last, same := m, 0
	for range most {
		if m, err = t.memory(ctx); err != nil {
			return m, err
		}
		if same++; m.Resident < last.Resident*0.995 || m.Stacks < last.Stacks*0.995 {
			same = 0
		}
		if same > steady {
			return m, nil
		}
		last = m
		time.Sleep(pause)
	}
	return m, nil
}

// node is a Laststand server.
type node struct {
	*harness.Server
	admin string
	sites bool // also report the allocation sites
}

func startNode(ctx context.Context, o options, more harness.Options) (*node, error) {
	more.Binary = o.server
	if o.sites {
		more.Env = append(more.Env, fmt.Sprintf("GODEBUG=memprofilerate=%d", profileEvery))
	}
	more.Env = append(more.Env, "GOGC=100") // as for the peers: a heap that may grow before a collection hides the memory of connections
	s, err := harness.Start(ctx, more)
	if err != nil {
		return nil, err
	}
	admin, err := s.Admin(ctx)
	if err != nil {
		s.Stop()
		return nil, err
	}
	return &node{s, admin, o.sites}, nil
}

func (n *node) url() string { return n.URL }
func (n *node) stop()       { n.Stop() }

func (n *node) memory(ctx context.Context) (m memory, err error) {
	profile, err := n.Heap(ctx, n.admin)
	if err != nil {
		return m, err
	}
	if n.sites {
		m.sites = readSites(profile)
	}
	all, err := n.Metrics(ctx)
	if err != nil {
		return m, err
	}
	m.Heap, m.Stacks, m.Goroutines = all["go_memstats_heap_alloc_bytes"], all["go_memstats_stack_inuse_bytes"], all["go_goroutines"]
	bytes, err := n.Resident()
	m.Resident = float64(bytes)
	return m, err
}
