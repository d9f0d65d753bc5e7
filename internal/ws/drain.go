package ws

import (
	"context"
	"time"

	"laststand/internal/protocol"
)

const (
	// drainPollInterval is the time between two checks of a drain for matches that are
	// over.
	drainPoll = 100 * time.Millisecond
	// settledPushGrace is how long players stay connected after their match, so that they
	// get the push that the result is settled. The push is sent only once.
	settleGrace = 2 * time.Second
)

// Drain sends a draining push to all sessions, and closes each session after its queued
// frames are written. It closes sessions without a match immediately, and the others
// settledPushGrace after their match is over or when ctx ends.
//
// A player who waits in an arena's lobby counts as without a match, and keeps the seat. A
// spectator counts as without a match too. The host of an arena that has started counts
// as in its match. From the start of the drain the server refuses new sessions. Drain
// returns when all sessions have ended, at most some seconds after ctx ends.
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
		s.cancelAwaiting() // only now: every hello that still waits belongs to a session that was closed
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
