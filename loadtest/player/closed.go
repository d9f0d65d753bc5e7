package player

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/protocol"
)

// CloseCode is the close code that ended a connection, 0 where it ended without.
func CloseCode(err error) int {
	if closeErr, ok := errors.AsType[*websocket.CloseError](err); ok {
		return closeErr.Code
	}
	return 0
}

// ReconnectAfter says whether and after what time a client reconnects that lost its
// connection by err, as the contract has it for each close code. A connection
// that was replaced is reconnected too: a Roamer has one at a time, so the newer
// one was its own, and is lost.
func ReconnectAfter(err error) (after time.Duration, ok bool) {
	closeErr, closed := errors.AsType[*websocket.CloseError](err)
	switch {
	case !closed:
		return shortPause(), true
	case closeErr.Code == protocol.CloseOverloaded:
		return retryAfter(closeErr.Text), true
	case closeErr.Code == protocol.CloseTooFast:
		return time.Minute, true
	case closeErr.Code == protocol.CloseSilent, closeErr.Code == protocol.CloseSlowReader, closeErr.Code == protocol.CloseReplaced:
		return 0, true
	}
	return 0, closeErr.Code < 4000 && closeErr.Code != protocol.CloseTooLarge
}

// retryAfter reads the reason of a close by an overloaded server.
func retryAfter(reason string) time.Duration {
	var body struct {
		RetryAfterMS int64 `json:"retry_after_ms"`
	}
	if json.Unmarshal([]byte(reason), &body) != nil || body.RetryAfterMS == 0 {
		return shortPause()
	}
	return time.Duration(body.RetryAfterMS) * time.Millisecond
}

// shortPause is a pause that differs from client to client, so that they do not all
// come back at once.
func shortPause() time.Duration {
	return 20*time.Millisecond + rand.N(180*time.Millisecond) //nolint:gosec // a pause is no secret
}
