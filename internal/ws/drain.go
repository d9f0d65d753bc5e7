package ws

import (
	"context"
	"time"

	"laststand/internal/protocol"
)

const (
	// drainPoll is how often a drain checks which matches are over.
	drainPoll = 100 * time.Millisecond
	// settleGrace is how long players stay connected after a match. They get the push
	// that the result is settled in this time; it is not sent again.
	settleGrace = 2 * time.Second
)

// Drain announces to all sessions that the node is leaving, and closes each after its
// last pushes. Sessions without a match close at once, the others when their match is
// over or ctx ends.
//
// A player who waits in an arena's lobby counts as without a match, and keeps the seat.
// So does a spectator. The host of an arena that has begun counts as in its match. New
// sessions are refused from the start. Drain returns when all sessions have ended, at
// most some seconds after ctx.
func (s *Server) Drain(ctx context.Context) {
	s.draining.Store(true)
	draining := protocol.EncodePush(protocol.TypeDraining, protocol.Draining{ReconnectAfterMS: 0})
	for _, se := range s.all() {
		se.out.push("", draining)
	}
	ticker := time.NewTicker(drainPoll)
	defer ticker.Stop()
	playing := make(map[*session]time.Time) // when each session was last seen in a match
	for left := s.all(); len(left) > 0 && ctx.Err() == nil; left = s.all() {
		for _, se := range left {
			if se.inMatch() {
				playing[se] = time.Now()
			} else if time.Since(playing[se]) > settleGrace {
				se.closeForDrain()
			}
		}
		s.cancelAwaiting() // only now: every hello that waits belongs to a session that was closed
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
	for _, se := range s.all() {
		se.closeForDrain()
	}
	s.cancelAwaiting()
	s.running.Wait()
	giveUpAt := time.Now().Add(callWithin) // by then all calls that are running now have ended
	for s.rejecting.running.Load()+s.lookups.running.Load() > 0 && time.Now().Before(giveUpAt) {
		<-ticker.C
	}
}

func (se *session) closeForDrain() { se.closeAfter(protocol.CloseDraining, "draining; reconnect") }
