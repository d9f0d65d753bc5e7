package ws

import (
	"runtime/debug"

	"laststand/internal/protocol"
)

// guard runs a part of what a frame asks for, and says whether it came to its
// end. A panic ends that part only: it is counted and logged.
func (se *session) guard(part func(), kind string) (done bool) {
	defer func() {
		if cause := recover(); cause != nil {
			se.server.metrics.panics.Inc()
			se.server.Logger.Error("message handler panicked",
				"type", typeLabel(kind), "player", se.player, "panic", cause, "stack", string(debug.Stack()))
		}
	}()
	part()
	return true
}

// fault answers for a request that panicked. Without a hello there is nobody
// to answer yet.
func (se *session) fault(r protocol.Request, greeted bool) {
	if !greeted {
		se.close(protocol.CloseOverloaded, comeAgain)
		return
	}
	se.refuse(r, protocol.Errorf(protocol.CodeInternal, "something went wrong here; it has been logged"))
}
