package ws

import "sync/atomic"

// aside runs what a server does beside its sessions, so much at once and no
// more.
type aside struct {
	most    int64
	running atomic.Int64
}

// try runs f in a goroutine of its own, unless too many run already; it says
// whether it does. Drain waits for it.
func (a *aside) try(f func()) bool {
	if a.running.Add(1) > a.most {
		a.running.Add(-1)
		return false
	}
	go func() {
		defer a.running.Add(-1)
		f()
	}()
	return true
}
