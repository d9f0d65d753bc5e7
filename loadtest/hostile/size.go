package hostile

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

// The server may exceed its largest size of the first phase by these amounts, because
// they come and go by themselves. Memory may also exceed it by Config.MoreMB, because
// the runtime gives some memory back late.
const (
	moreGoroutines = 60
	moreSockets    = 20
	moreFiles      = 150 // pools keep the connections that they once needed
	timesMB        = 1.5
)

// excess lists the ways in which z exceeds before by more than these amounts.
func (z Size) excess(before Size, moreMB int64) (all []string) {
	for _, one := range []struct {
		name             string
		now, before, max int64
	}{
		{"goroutines", z.Goroutines, before.Goroutines, before.Goroutines + moreGoroutines},
		{"connections", z.Sockets, before.Sockets, before.Sockets + moreSockets},
		{"open files", z.Files, before.Files, before.Files + moreFiles},
		{"MB of memory in use", z.MB, before.MB, max(before.MB+moreMB, int64(timesMB*float64(before.MB)))},
	} {
		if one.now > one.max {
			all = append(all, fmt.Sprintf("the server has %d %s after the attacks, and had %d before", one.now, one.name, one.before))
		}
	}
	return all
}

// size reads the current size of the server.
func (r *run) size(ctx context.Context) (z Size, err error) {
	resident, err := testenv.ResidentBytes(r.Server.PID())
	if err != nil {
		return z, err
	}
	m, err := r.Server.Metrics(ctx)
	if err != nil {
		return z, err
	}
	sockets, err := r.Server.Connections()
	return Size{resident >> 20, int64(m.Sum("go_goroutines")), sockets, int64(m.Sum("process_open_fds"))}, err
}

// watchSize reads the size of the server twice a second until ctx ends, and keeps the
// largest values in most.
func (r *run) watchSize(ctx context.Context, most *Size) error {
	for ctx.Err() == nil {
		now, err := r.size(ctx)
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("read the size of the server: %w", err)
		}
		*most = Size{max(most.MB, now.MB), max(most.Goroutines, now.Goroutines), max(most.Sockets, now.Sockets), max(most.Files, now.Files)}
		_ = pause(ctx, time.Second/2) // the loop ends with ctx
	}
	return nil
}
