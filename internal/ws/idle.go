package ws

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"laststand/internal/timer"
)

const (
	idleAfter        = time.Minute     // a session is idle this long after its last request
	waitingBonus     = 4 * time.Minute // and so much later if it waits for something
	idleBatchDivisor = 20              // CloseIdle closes one in 20 idle sessions per call

	evictInterval   = time.Second
	maxEvictPerCall = 1024 // sessions evicted per evictInterval
)

// CloseIdle closes a twentieth of the idle sessions, the longest idle first. It returns how
// many it closes, and does not wait until they have ended. The node calls it while it is
// overloaded.
func (s *Server) CloseIdle() int {
	idle := s.idleSessions()
	idle = idle[:(len(idle)+idleBatchDivisor-1)/idleBatchDivisor]
	for i, se := range idle {
		se.closeWithRetry(i)
	}
	return len(idle)
}

// Run evicts idle sessions while places are low, until ctx ends. It returns nil.
func (s *Server) Run(ctx context.Context) error {
	timer.Every(ctx, evictInterval, func(context.Context) { s.evictIdle() })
	return nil
}

// evictIdle closes the longest idle sessions until places are no longer low.
func (s *Server) evictIdle() {
	excess := s.places.Excess()
	if excess <= 0 || s.draining.Load() {
		return
	}
	idle := s.idleSessions()
	for i, se := range idle[:min(len(idle), int(excess), maxEvictPerCall)] {
		if s.Limits.IdleCap.Refuse() {
			s.places.Release(&se.admission.place)
			se.closeWithRetry(i)
		}
	}
}

// idleSessions returns the sessions that are idle and in no match, the longest idle first.
// A session that waits for something counts as idle for a shorter time.
func (s *Server) idleSessions() []*session {
	idleSince := make(map[*session]int64)
	idleBefore := s.Now() - idleAfter.Milliseconds()
	for _, se := range s.openSessions() {
		since := se.lastRequest.Load()
		if since > idleBefore || !se.greeted.Load() || se.isClosing() || se.inMatch() {
			continue
		}
		if se.isWaiting() {
			since += waitingBonus.Milliseconds()
		}
		if since <= idleBefore {
			idleSince[se] = since
		}
	}
	return slices.SortedFunc(maps.Keys(idleSince), func(a, b *session) int { return cmp.Compare(idleSince[a], idleSince[b]) })
}
