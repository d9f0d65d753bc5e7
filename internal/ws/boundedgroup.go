package ws

import "sync/atomic"

// boundedGroup runs functions in goroutines, at most limit at a time.
type boundedGroup struct {
	limit   int64
	running atomic.Int64
}

// tryGo runs a function in a goroutine, or returns false if limit functions are running
// already. Server.Drain waits for the goroutines.
func (g *boundedGroup) tryGo(function func()) bool {
	if g.running.Add(1) > g.limit {
		g.running.Add(-1)
		return false
	}
	go func() {
		defer g.running.Add(-1)
		function()
	}()
	return true
}
