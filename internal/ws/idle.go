package ws

import (
	"cmp"
	"context"
	"slices"
	"time"

	"laststand/internal/loop"
)

const (
	idleAfter          = time.Minute     // a session is idle this long after its last request
	idleAfterIfWaiting = 5 * time.Minute // for evictIdle: the same for a session that waits for something
	idleBatchDivisor   = 20              // CloseIdle closes one in 20 idle sessions per call

	evictInterval   = time.Second
	maxEvictPerCall = 1024 // sessions evicted per evictInterval
)

// CloseIdle closes a twentieth of the sessions that have sent no request for a minute and
// are in no match. It chooses sessions that wait for nothing before those that wait, and
// among equal ones the longest idle first. It returns how many sessions it closes, and
// does not wait until they have ended. The node calls it while it is overloaded.
func (s *Server) CloseIdle() int {
	idle := s.idleSessions(idleAfter)
	idle = idle[:(len(idle)+idleBatchDivisor-1)/idleBatchDivisor]
	for i, se := range idle {
		se.closeWithRetry(i)
	}
	return len(idle)
}

// Run evicts idle sessions while places are low, until ctx ends. It returns nil.
func (s *Server) Run(ctx context.Context) error {
	loop.Every(ctx, evictInterval, func(context.Context) { s.evictIdle() })
	return nil
}

// evictIdle closes the longest idle sessions until places are no longer low.
func (s *Server) evictIdle() {
	excess := s.places.Excess()
	if excess <= 0 || s.draining.Load() {
		return
	}
	idle := s.idleSessions(idleAfterIfWaiting)
	for i, se := range idle[:min(len(idle), int(excess), maxEvictPerCall)] {
		if s.Limits.IdleCap.Refuse() {
			s.places.MarkEvicted(&se.admission.place)
			se.closeWithRetry(i)
		}
	}
}

// idleSession is a session that has sent no request for idleAfter.
type idleSession struct {
	*session
	waiting       bool // the result of isWaiting
	lastRequestAt int64
}

// compareIdle orders sessions that wait for nothing before those that wait, then the
// longest idle first.
func compareIdle(a, b idleSession) int {
	switch {
	case a.waiting == b.waiting:
		return cmp.Compare(a.lastRequestAt, b.lastRequestAt)
	case b.waiting:
		return -1
	}
	return 1
}

// idleSessions returns the idle sessions that are in no match, sorted with compareIdle. A
// session that waits for something is idle only after waitingIdleAfter.
func (s *Server) idleSessions(waitingIdleAfter time.Duration) []*session {
	var idle []idleSession
	now := s.Now()
	for _, se := range s.openSessions() {
		lastRequestAt := se.lastRequest.Load()
		if now-lastRequestAt < idleAfter.Milliseconds() || !se.greeted.Load() || se.isClosing() || se.inMatch() {
			continue
		}
		if idleOne := (idleSession{se, se.isWaiting(), lastRequestAt}); !idleOne.waiting || now-lastRequestAt >= waitingIdleAfter.Milliseconds() {
			idle = append(idle, idleOne)
		}
	}
	slices.SortFunc(idle, compareIdle)
	sorted := make([]*session, len(idle))
	for i, idleOne := range idle {
		sorted[i] = idleOne.session
	}
	return sorted
}
