package ws

import (
	"errors"
	"math/rand/v2"

	"laststand/internal/pressure"
	"laststand/internal/protocol"
)

// Pressure says what the node refuses since it has too much to do;
// *pressure.Gauge. Presses only says whether Refuse would.
type Pressure interface {
	Presses(w pressure.What) bool
	Refuse(w pressure.What) error
}

// calm is the Pressure on a node that has no gauge.
type calm struct{}

func (calm) Presses(pressure.What) bool { return false }
func (calm) Refuse(pressure.What) error { return nil }

// turnAway closes a session whose hello is refused for now, and says when to come
// again: not at once, since others wait too, and not with all of them.
func (se *session) turnAway(err error) {
	wait := retryMS + rand.Int64N(retryMS) //nolint:gosec // a wait is no secret
	if refused, ok := errors.AsType[*protocol.Error](err); ok {
		wait = max(refused.RetryAfterMS, wait)
	}
	se.close(protocol.CloseOverloaded, again(wait))
}
