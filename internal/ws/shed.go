package ws

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"laststand/internal/identity"
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

// admitted refuses a player who is in no match, nor in an arena that is to begin,
// where the node is hard-pressed or the last places are left. A resume alone is
// no proof: anyone can ask for one.
func (se *session) admitted(ctx context.Context, p identity.Player) error {
	s := se.server
	pressed := s.Pressure.Presses(pressure.Entering)
	if se.role != identity.RolePlayer || !se.reserved && !pressed {
		return nil
	}
	playing, err := s.Lobby.Playing(ctx, p.Game, p.ID)
	if err != nil || playing != nil {
		return err
	}
	if se.reserved && s.Limits.Full.Stands() {
		return protocol.RetryAfter(protocol.CodeOverloaded, retryMS, "the last places are for players in a match")
	}
	return s.Pressure.Refuse(pressure.Entering)
}

// turnAway closes a session whose hello is refused for now, and says when to come
// again: not at once, since others wait too, and not with all of them.
func (se *session) turnAway(err error) {
	wait := retryMS + rand.Int64N(retryMS) //nolint:gosec // a wait is no secret
	if refused, ok := errors.AsType[*protocol.Error](err); ok {
		wait = max(refused.RetryAfterMS, wait)
	}
	se.close(protocol.CloseOverloaded, again(wait))
}

const (
	idleAfter = time.Minute // since a session asked for anything
	idleShare = 20          // of those that are idle, one in so many goes at a time
)

// CloseIdle closes some of the sessions that do nothing: those that have asked
// for nothing for the longest, a minute at least, and are in no match. It says
// how many, and waits for none.
func (s *Server) CloseIdle() int {
	before := s.Now() - idleAfter.Milliseconds()
	idle := slices.DeleteFunc(s.all(), func(se *session) bool {
		return se.asked.Load() > before || se.leaving.Load() != nil || se.inMatch()
	})
	slices.SortFunc(idle, func(a, b *session) int { return cmp.Compare(a.asked.Load(), b.asked.Load()) })
	idle = idle[:(len(idle)+idleShare-1)/idleShare]
	for i, se := range idle {
		se.closeAfter(protocol.CloseOverloaded, again(retryMS+int64(i%10)*retryMS/2))
	}
	return len(idle)
}
