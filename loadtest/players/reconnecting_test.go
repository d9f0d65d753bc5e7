package players

import (
	"errors"
	"io"
	"strconv"
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

// Numbered pushes come once and in order. Pushes before a resumed state are dropped.
func TestNumbers(t *testing.T) {
	t.Parallel()
	hear := func(r *member, match string, seq int64) error {
		return r.sortPush(received{Frame: checker.Frame{Match: match, Seq: seq, Type: protocol.TypeQuestion}})
	}
	for _, order := range []string{"12", "1", "123"} {
		r := new(member)
		for _, n := range order {
			seq, _ := strconv.ParseInt(string(n), 10, 64)
			if err := hear(r, "m_1", seq); err != nil {
				t.Errorf("%s: %v", order, err)
			}
		}
		if len(r.waiting) != len(order) {
			t.Errorf("%s: %d came out", order, len(r.waiting))
		}
		for _, wrong := range []int64{int64(len(order)), int64(len(order)) + 2} {
			if err := hear(r, "m_1", wrong); !errors.Is(err, checker.ErrContract) {
				t.Errorf("%d after %s: %v", wrong, order, err)
			}
		}
		if err := hear(r, "m_2", 1); !errors.Is(err, checker.ErrContract) {
			t.Errorf("another match after %s: %v", order, err)
		}
	}
	r := &member{match: "m_1", lastSeq: 4, stateRequest: 1}
	if err := hear(r, "m_1", 9); err != nil || len(r.waiting) != 0 {
		t.Errorf("a live push before the state: %v, %d came out", err, len(r.waiting))
	}
}
