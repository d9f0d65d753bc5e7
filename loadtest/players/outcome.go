package players

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/protocol"
)

// CloseCode returns the close code that ended a connection, 0 if there was none.
func CloseCode(err error) int {
	if closeErr, ok := errors.AsType[*websocket.CloseError](err); ok {
		return closeErr.Code
	}
	return 0
}

// ReconnectAfter says whether, and after how long, a client reconnects after it lost its
// connection with err. It follows the contract for each close code. It also reconnects
// after a replaced connection: a client has only one at a time, so it lost the newer one
// too.
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

// retryAfter reads the delay from the close reason of an overloaded server.
func retryAfter(reason string) time.Duration {
	var body struct {
		RetryAfterMS int64 `json:"retry_after_ms"`
	}
	if json.Unmarshal([]byte(reason), &body) != nil || body.RetryAfterMS == 0 {
		return shortPause()
	}
	return time.Duration(body.RetryAfterMS) * time.Millisecond
}

// shortPause returns a random pause, so that clients do not all reconnect at once.
func shortPause() time.Duration {
	return 20*time.Millisecond + rand.N(180*time.Millisecond) //nolint:gosec // a pause is no secret
}

// isTemporary reports whether an HTTP request may succeed later.
func isTemporary(err error) bool {
	refused, ok := errors.AsType[*StatusError](err)
	return !ok || refused.Status == http.StatusTooManyRequests || refused.Status >= 500
}

// outcome describes the result of a call in a few words.
func outcome(err error) string {
	closeErr, closed := errors.AsType[*websocket.CloseError](err)
	status, refused := errors.AsType[*StatusError](err)
	timeout, ok := errors.AsType[net.Error](err)
	switch {
	case err == nil:
		return "ok"
	case closed:
		return fmt.Sprintf("closed %d", closeErr.Code)
	case refused:
		return fmt.Sprintf("status %d", status.Status)
	case errors.Is(err, context.Canceled):
		return "given up"
	case ok && timeout.Timeout():
		return "timeout"
	}
	return "failed"
}
