package players

import (
	"io"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/protocol"
	"laststand/loadtest/checker"
)

// The client follows the contract after each end of a connection.
func TestReconnectAfter(t *testing.T) {
	t.Parallel()
	const soonest, soon = 0, 200 * time.Millisecond
	for name, test := range map[string]struct {
		lost error
		most time.Duration
		ok   bool
	}{
		"cut off":       {&websocket.CloseError{Code: websocket.CloseAbnormalClosure}, soonest, true},
		"refused":       {io.ErrUnexpectedEOF, soon, true},
		"draining":      {&websocket.CloseError{Code: protocol.CloseDraining}, soonest, true},
		"overloaded":    {&websocket.CloseError{Code: protocol.CloseOverloaded, Text: `{"retry_after_ms":1500}`}, 1500 * time.Millisecond, true},
		"too fast":      {&websocket.CloseError{Code: protocol.CloseTooFast}, time.Minute, true},
		"silent":        {&websocket.CloseError{Code: protocol.CloseSilent}, soonest, true},
		"slow":          {&websocket.CloseError{Code: protocol.CloseSlowReader}, soonest, true},
		"replaced":      {&websocket.CloseError{Code: protocol.CloseReplaced}, soonest, true},
		"bad token":     {&websocket.CloseError{Code: protocol.CloseUnauthorized}, 0, false},
		"banned":        {&websocket.CloseError{Code: protocol.CloseBanned}, 0, false},
		"malformed":     {&websocket.CloseError{Code: protocol.CloseProtocol}, 0, false},
		"too large":     {&websocket.CloseError{Code: protocol.CloseTooLarge}, 0, false},
		"not a player":  {&websocket.CloseError{Code: protocol.CloseForbidden}, 0, false},
		"broken reason": {&websocket.CloseError{Code: protocol.CloseOverloaded, Text: `soon`}, soon, true},
	} {
		after, ok := ReconnectAfter(test.lost)
		if ok != test.ok || after > test.most || test.most > soon && after != test.most {
			t.Errorf("%s: after %v, %v", name, after, ok)
		}
	}
}

// Pushes before a resumed state are dropped; the server sends them again after it.
func TestLivePushesBeforeTheStateAreDropped(t *testing.T) {
	t.Parallel()
	r := newRun(t, Config{})
	r.stateOf = "m_1"
	for match, isDropped := range map[string]bool{"m_1": true, "m_2": false} {
		h := r.handleFrame(checker.Frame{Match: match, Seq: 9, Type: protocol.TypeQuestion})
		if (h.Type == "") != isDropped {
			t.Errorf("%s: %+v", match, h)
		}
	}
}
