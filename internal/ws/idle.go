package ws

import (
	"cmp"
	"slices"
	"time"

	"laststand/internal/protocol"
)

const (
	idleAfter        = time.Minute     // after the last request
	waitingIdleAfter = 5 * time.Minute // the same for a session that waits for something, if few places are left
	idleBatchShare   = 20              // CloseIdle closes one in 20 idle sessions per call

	lowPlacesShare = 10 // places are low when the last tenth is in use
	evictEvery     = time.Second
	evictSample    = 4096 // sessions examined per call of evictIdle
	maxEvictAtOnce = 1024 // sessions evicted per call
)

// CloseIdle closes a twentieth of the sessions that have sent no request for a minute
// and are in no match. It closes those first that wait for nothing, longest idle first.
// It returns how many it closes, and does not wait for them.
func (s *Server) CloseIdle() int {
	idle := s.idleSessions(s.all(), idleAfter)
	idle = idle[:(len(idle)+idleBatchShare-1)/idleBatchShare]
	for i, se := range idle {
		se.closeWithRetry(i)
	}
	return len(idle)
}

// lowPlacesAt returns the number of sessions from which on places are low.
func (s *Server) lowPlacesAt() int64 { return s.Connections - s.Connections/lowPlacesShare }

// evictIdle closes idle sessions while places are low, as many as are too many, and
// runs again until they are not low. It examines a sample of the sessions and closes
// the longest idle of these. Redis evicts keys in the same way
// (redis.io/docs/latest/develop/reference/eviction).
func (s *Server) evictIdle() {
	s.mu.Lock()
	excess := int64(len(s.sessions)) - s.evicted - s.lowPlacesAt() + 1
	if excess <= 0 || s.draining.Load() {
		s.evictSet = false
		s.mu.Unlock()
		return
	}
	sample := s.sampleSessions(evictSample)
	s.mu.Unlock()
	idle := s.idleSessions(sample, waitingIdleAfter)
	for i, se := range idle[:min(len(idle), int(excess), maxEvictAtOnce)] {
		if s.Limits.IdleCap.Refuse() {
			s.markEvicted(se)
			se.closeWithRetry(i)
		}
	}
	s.Wheel.Set(&s.evictTimer, evictEvery, s.evictIdle)
}

// markEvicted makes a session that is being closed count as gone.
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

// closeWithRetry closes an idle session and asks the client to reconnect. Ten different
// delays keep the clients from coming back together.
func (se *session) closeWithRetry(i int) {
	se.closeAfter(protocol.CloseOverloaded, retryReasonAfter(retryMS+int64(i%10)*retryMS/2))
}

// idleSession is a session that has sent no request for a while.
type idleSession struct {
	*session
	waiting bool // it waits for something, see isWaiting
	since   int64
}

// compareIdle orders sessions that wait for nothing first, then the longest idle first.
func compareIdle(a, b idleSession) int {
	switch {
	case a.waiting == b.waiting:
		return cmp.Compare(a.since, b.since)
	case b.waiting:
		return -1
	}
	return 1
}

// idleSessions returns those of the sessions that are idle and in no match, in the
// order of compareIdle. A session that waits for something is idle only after
// waitingIdle.
func (s *Server) idleSessions(sessions []*session, waitingIdle time.Duration) []*session {
	var idle []idleSession
	now := s.Now()
	for _, se := range sessions {
		since := se.lastRequest.Load()
		if now-since < idleAfter.Milliseconds() || !se.greeted.Load() || se.closing.Load() != nil || se.inMatch() {
			continue
		}
		if r := (idleSession{se, se.isWaiting(), since}); !r.waiting || now-since >= waitingIdle.Milliseconds() {
			idle = append(idle, r)
		}
	}
	slices.SortFunc(idle, compareIdle)
	found := make([]*session, len(idle))
	for i, r := range idle {
		found[i] = r.session
	}
	return found
}

// isWaiting returns true if a greeted session waits for an opponent, an arena or a
// change of a board.
func (se *session) isWaiting() bool {
	return se.watches.count.Load() > 0 || se.server.Lobby.HasTicket(se.game, se.player) || se.server.Engine.IsFollowing(se.game, se.player)
}
