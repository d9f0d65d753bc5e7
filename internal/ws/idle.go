package ws

import (
	"cmp"
	"slices"
	"time"

	"laststand/internal/protocol"
)

const (
	idleAfter          = time.Minute     // a session is idle this long after its last request
	idleAfterIfWaiting = 5 * time.Minute // for evictIdle: the same for a session that waits for something
	idleBatchDivisor   = 20              // CloseIdle closes one in 20 idle sessions per call

	lowPlacesDivisor = 10 // places are low when the last tenth is in use
	evictInterval    = time.Second
	evictSample      = 4096 // sessions examined per call of evictIdle
	maxEvictPerCall  = 1024 // sessions evicted per call
)

// CloseIdle closes a twentieth of the sessions that have sent no request for a minute and
// are in no match. It chooses sessions that wait for nothing before those that wait, and
// among equal ones the longest idle first. It returns how many sessions it closes, and
// does not wait until they have ended. The node calls it while it is overloaded.
func (s *Server) CloseIdle() int {
	idle := s.idleSessions(s.openSessions(), idleAfter)
	idle = idle[:(len(idle)+idleBatchDivisor-1)/idleBatchDivisor]
	for i, se := range idle {
		se.closeWithRetry(i)
	}
	return len(idle)
}

// lowPlacesAt returns the number of sessions at which the node starts to evict idle
// sessions: nine tenths of MaxConnections.
func (s *Server) lowPlacesAt() int64 { return s.MaxConnections - s.MaxConnections/lowPlacesDivisor }

// evictIdle closes idle sessions until fewer than lowPlacesAt are open. While there are
// more, it runs again each evictInterval. It examines a random sample of the sessions and
// closes the longest idle of these. Redis evicts keys in the same way
// (redis.io/docs/latest/develop/reference/eviction).
func (s *Server) evictIdle() {
	s.mu.Lock()
	excess := int64(len(s.sessions)) - s.evictedCount - s.lowPlacesAt() + 1
	if excess <= 0 || s.draining.Load() {
		s.evictScheduled = false
		s.mu.Unlock()
		return
	}
	sample := s.sampleSessions(evictSample)
	s.mu.Unlock()
	idle := s.idleSessions(sample, idleAfterIfWaiting)
	for i, se := range idle[:min(len(idle), int(excess), maxEvictPerCall)] {
		if s.Limits.IdleCap.Refuse() {
			s.markEvicted(se)
			se.closeWithRetry(i)
		}
	}
	s.Wheel.Set(&s.evictTimer, evictInterval, s.evictIdle)
}

// markEvicted counts a session as evicted: it is still closing, but its place is free.
func (s *Server) markEvicted(se *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.markEvictedLocked(se)
}

// sampleSessions returns up to limit sessions, chosen at random. The caller holds mu.
func (s *Server) sampleSessions(limit int) []*session {
	sample := make([]*session, 0, min(limit, len(s.sessions)))
	for se := range s.sessions { // a map is iterated in random order
		if len(sample) == limit {
			break
		}
		sample = append(sample, se)
	}
	return sample
}

// closeWithRetry closes an idle session and sends the client a time to reconnect. The
// delay depends on the session's position in a batch. There are ten different delays, so
// that the clients do not reconnect at the same time.
func (se *session) closeWithRetry(position int) {
	se.closeAfterQueued(protocol.CloseOverloaded, retryReasonAfter(retryMS+int64(position%10)*retryMS/2))
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

// idleSessions returns the idle ones among the sessions that are in no match, sorted with
// compareIdle. A session that waits for something is idle only after waitingIdleAfter.
func (s *Server) idleSessions(sessions []*session, waitingIdleAfter time.Duration) []*session {
	var idle []idleSession
	now := s.Now()
	for _, se := range sessions {
		lastRequestAt := se.lastRequest.Load()
		if now-lastRequestAt < idleAfter.Milliseconds() || !se.greeted.Load() || se.closing.Load() != nil || se.inMatch() {
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

// isWaiting returns true if a greeted session waits for an opponent or an arena, or
// watches a board.
func (se *session) isWaiting() bool {
	return se.watches.count.Load() > 0 || se.server.Lobby.HasTicket(se.game, se.player) || se.server.Engine.IsFollowing(se.game, se.player)
}
