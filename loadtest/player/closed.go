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
	if why, ok := errors.AsType[*websocket.CloseError](err); ok {
		return why.Code
	}
	return 0
}

// ComeBack says whether and after what time a client reconnects that lost its
// connection by err, as the contract has it for each close code. A connection
// that was replaced is reconnected too: a Roamer has one at a time, so the newer
// one was its own, and is lost.
func ComeBack(err error) (after time.Duration, ok bool) {
	why, closed := errors.AsType[*websocket.CloseError](err)
	switch {
	case !closed:
		return soon(), true
	case why.Code == protocol.CloseOverloaded:
		return retryAfter(why.Text), true
	case why.Code == protocol.CloseTooFast:
		return time.Minute, true
	case why.Code == protocol.CloseSilent, why.Code == protocol.CloseSlowReader, why.Code == protocol.CloseReplaced:
		return 0, true
	}
	return 0, why.Code < 4000 && why.Code != protocol.CloseTooLarge
}

// retryAfter reads the reason of a close by an overloaded server.
func retryAfter(reason string) time.Duration {
	var said struct {
		RetryAfterMS int64 `json:"retry_after_ms"`
	}
	if json.Unmarshal([]byte(reason), &said) != nil || said.RetryAfterMS == 0 {
		return soon()
	}
	return time.Duration(said.RetryAfterMS) * time.Millisecond
}

// soon is a pause that differs from client to client, so that they do not all
// come back at once.
func soon() time.Duration {
	return 20*time.Millisecond + rand.N(180*time.Millisecond) //nolint:gosec // a pause is no secret
}
