package ws

import (
	"context"
	"time"

	"laststand/internal/protocol"
)

const (
	// drainPollInterval is the time between two checks of a drain for matches that are
	// over.
	drainPollInterval = 100 * time.Millisecond
	// settledPushGrace is how long players stay connected after their match, so that they
	// get the push that the result is settled. The push is sent only once.
	settledPushGrace = 2 * time.Second
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
	for _, se := range s.openSessions() {
		se.outbox.push("", draining)
	}
	ticker := time.NewTicker(drainPollInterval)
	defer ticker.Stop()
	lastSeenPlaying := make(map[*session]time.Time) // when each session was last seen in a match
	for remaining := s.openSessions(); len(remaining) > 0 && ctx.Err() == nil; remaining = s.openSessions() {
		for _, se := range remaining {
			if se.inMatch() {
				lastSeenPlaying[se] = time.Now()
			} else if time.Since(lastSeenPlaying[se]) > settledPushGrace {
				se.closeForDrain()
			}
		}
		s.cancelHellos() // only now: every hello that still waits belongs to a session that was closed
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
	for _, se := range s.openSessions() {
		se.closeForDrain()
	}
	s.cancelHellos()
	s.runningSessions.Wait()
	_ = s.rejecting.Acquire(context.Background(), maxRejecting) // after all that are being rejected; never fails
	s.rejecting.Release(maxRejecting)
	_ = s.lookups.Wait() // returns no error
	s.parker.Close()
}
