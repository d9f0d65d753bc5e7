package ws

import (
	"runtime/debug"

	"laststand/internal/protocol"
)

// runRecovered runs a function that handles a message, and returns false if it panicked.
// It counts and logs the panic.
func (se *session) runRecovered(function func(), messageType string) (completed bool) {
	defer func() {
		if cause := recover(); cause != nil {
			se.server.metrics.panics.Inc()
			se.server.Logger.Error("message handler panicked",
				"type", typeLabel(messageType), "player", se.player, "panic", cause, "stack", string(debug.Stack()))
		}
	}()
	function()
	return true
}

// replyInternalError replies to a request that panicked. Before the hello it closes the
// session instead.
func (se *session) replyInternalError(r protocol.Request, greeted bool) {
	if !greeted {
		se.close(protocol.CloseOverloaded, retryReason)
		return
	}
	se.replyError(r, protocol.Errorf(protocol.CodeInternal, "internal error; the server has logged it"))
}
