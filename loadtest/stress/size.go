package stress

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"laststand/internal/testenv"
)

// size is the size of a server: its resident MB of memory, its goroutines, its connections
// to clients and its open files.
type size map[string]float64

// sizeMargins are how far the server may exceed its largest size of the first phase, because
// they come and go by themselves. Pools keep the connections that they once needed.
var sizeMargins = size{"goroutines": 60, "connections": 20, "open files": 150}

// timesMB is by which factor memory may exceed that of the first phase, if that is more than
// HostileConfig.MoreMB: the runtime gives some memory back late.
const timesMB = 1.5

// excess lists the ways in which a size exceeds an earlier one by more than is allowed.
func (z size) excess(before size, moreMB float64) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(z)) {
		limit := before[name] + sizeMargins[name]
		if name == "MB of memory" {
			limit = max(before[name]+moreMB, timesMB*before[name])
		}
		if z[name] > limit {
			all = append(all, fmt.Sprintf("the server has %.0f %s after the attacks, and had %.0f before", z[name], name, before[name]))
		}
	}
	return all
}

func sizeOf(ctx context.Context, n *testenv.Node) (size, error) {
	resident, err := testenv.ResidentBytes(n.PID())
	if err != nil {
		return nil, err
	}
	m, err := n.Metrics(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the size of the server: %w", err)
	}
	return size{
		"MB of memory": float64(resident >> 20), "goroutines": m.Sum("go_goroutines"),
		"connections": m.Sum("laststand_connections"), "open files": m.Sum("process_open_fds"),
	}, nil
}

// sizeInterval is the time between two readings of the size of a server.
const sizeInterval = time.Second / 2

// watchSize reads the size of a server until its result is called, which returns the largest
// values.
func watchSize(ctx context.Context, n *testenv.Node) func() (size, error) {
	ctx, cancel := context.WithCancel(ctx)
	most := size{}
	var failed error
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			now, err := sizeOf(context.WithoutCancel(ctx), n)
			if failed = err; err != nil {
				return
			}
			for name, value := range now {
				most[name] = max(most[name], value)
			}
			if pause(ctx, sizeInterval) != nil {
				return
			}
		}
	})
	return func() (size, error) {
		cancel()
		watching.Wait()
		return most, failed
	}
}
