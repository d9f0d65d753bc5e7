package stress

import (
	"context"
	"fmt"
	"sync"
	"time"

	"laststand/internal/testenv"
)

// Size is the size of a server.
type Size struct {
	MB         float64 // resident
	Goroutines float64
	Sockets    float64 // of players and of all other clients
	Files      float64 // open descriptors: sockets and the pools of the stores too
}

// most returns the highest values.
func (z Size) most(other Size) Size {
	return Size{max(z.MB, other.MB), max(z.Goroutines, other.Goroutines), max(z.Sockets, other.Sockets), max(z.Files, other.Files)}
}

// The server may exceed its largest size of the first phase by these amounts, because
// they come and go by themselves. Memory may also exceed it by HostileConfig.MoreMB, because
// the runtime gives some memory back late.
const (
	moreGoroutines = 60
	moreSockets    = 20
	moreFiles      = 150 // pools keep the connections that they once needed
	timesMB        = 1.5
)

// excess lists the ways in which z exceeds before by more than these amounts.
func (z Size) excess(before Size, moreMB float64) (all []string) {
	for _, one := range []struct {
		name             string
		now, before, max float64
	}{
		{"goroutines", z.Goroutines, before.Goroutines, before.Goroutines + moreGoroutines},
		{"connections", z.Sockets, before.Sockets, before.Sockets + moreSockets},
		{"open files", z.Files, before.Files, before.Files + moreFiles},
		{"MB of memory in use", z.MB, before.MB, max(before.MB+moreMB, timesMB*before.MB)},
	} {
		if one.now > one.max {
			all = append(all, fmt.Sprintf("the server has %.0f %s after the attacks, and had %.0f before", one.now, one.name, one.before))
		}
	}
	return all
}

// sizeOf reads the current size of a server.
func sizeOf(ctx context.Context, n *testenv.Node) (z Size, err error) {
	resident, err := testenv.ResidentBytes(n.PID())
	if err != nil {
		return z, err
	}
	m, err := n.Metrics(ctx)
	if err != nil {
		return z, fmt.Errorf("read the size of the server: %w", err)
	}
	return Size{float64(resident >> 20), m.Sum("go_goroutines"), m.Sum("laststand_connections"), m.Sum("process_open_fds")}, nil
}

// sizeInterval is the time between two readings of the size of a server.
const sizeInterval = time.Second / 2

// watchSize reads the size of a server until its result is called, which returns the largest
// values.
func watchSize(ctx context.Context, n *testenv.Node) func() (Size, error) {
	ctx, cancel := context.WithCancel(ctx)
	var most Size
	var failed error
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			now, err := sizeOf(context.WithoutCancel(ctx), n)
			if failed = err; err != nil {
				return
			}
			if most = most.most(now); pause(ctx, sizeInterval) != nil {
				return
			}
		}
	})
	return func() (Size, error) {
		cancel()
		watching.Wait()
		return most, failed
	}
}
