package attacker

import (
	"context"
	"fmt"
	"time"

	"laststand/internal/testenv"
)

// Size is the size of the server.
type Size struct {
	MB         int64 `json:"mb"` // resident
	Goroutines int64 `json:"goroutines"`
	Sockets    int64 `json:"sockets"` // of players and of all other clients
	Files      int64 `json:"files"`   // open descriptors: sockets and the pools of the stores too
}

// The server may exceed the largest size of the calm by these amounts, because they come
// and go by themselves. Memory may also exceed it by MoreMB, because the runtime gives
// some memory back late.
const (
	moreGoroutines = 60
	moreSockets    = 20
	moreFiles      = 150 // pools keep the connections that they once needed
	timesMB        = 1.5
)

// above lists the ways in which z exceeds before by more than these amounts.
func (z Size) above(before Size, moreMB int64) (all []string) {
	if z.Goroutines > before.Goroutines+moreGoroutines {
		all = append(all, fmt.Sprintf("the server has %d goroutines, %d in the calm", z.Goroutines, before.Goroutines))
	}
	if z.Sockets > before.Sockets+moreSockets {
		all = append(all, fmt.Sprintf("the server has %d connections, %d in the calm", z.Sockets, before.Sockets))
	}
	if z.Files > before.Files+moreFiles {
		all = append(all, fmt.Sprintf("the server has %d files open, %d in the calm", z.Files, before.Files))
	}
	if float64(z.MB) > max(float64(before.MB+moreMB), timesMB*float64(before.MB)) {
		all = append(all, fmt.Sprintf("the server has %d MB of memory in use, %d in the calm", z.MB, before.MB))
	}
	return all
}

// size reads the current size of the server.
func (s *runner) size(ctx context.Context) (z Size, err error) {
	resident, err := testenv.ResidentBytes(s.Server.PID())
	if err != nil {
		return z, err
	}
	m, err := s.Server.Metrics(ctx)
	if err != nil {
		return z, err
	}
	sockets, err := s.Server.Connections()
	return Size{resident >> 20, int64(m.Sum("go_goroutines")), sockets, int64(m.Sum("process_open_fds"))}, err
}

// sizes keeps the largest sizes seen.
type sizes struct{ most Size }

// watch reads the size of the server twice a second until ctx ends.
func (s *runner) watch(ctx context.Context, z *sizes) error {
	for ctx.Err() == nil {
		now, err := s.size(ctx)
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("the server cannot be looked at: %w", err)
		}
		z.most = Size{
			max(z.most.MB, now.MB), max(z.most.Goroutines, now.Goroutines), max(z.most.Sockets, now.Sockets), max(z.most.Files, now.Files),
		}
		_ = pause(ctx, time.Second/2) // the loop ends with ctx
	}
	return nil
}
