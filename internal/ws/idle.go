package ws

import (
	"cmp"
	"slices"
	"time"

	"laststand/internal/protocol"
)

const (
	idleAfter  = time.Minute     // since a session asked for anything
	waitsAfter = 5 * time.Minute // the same, where it waits for something and places are short
	idleShare  = 20              // of those that are idle, one in so many goes at a time

	short        = 10 // places are short when the last tenth is being used
	relieveEvery = time.Second
	looksForIdle = 4096 // sessions looked at in one go
	closedAtOnce = 1024 // of them at the most
)

// CloseIdle closes some of the sessions that do nothing: those that have asked
// for nothing for the longest, a minute at least, and are in no match; who waits
// for something after the others. It says how many, and waits for none.
func (s *Server) CloseIdle() int {
	idle := s.idle(s.all(), idleAfter)
	idle = idle[:(len(idle)+idleShare-1)/idleShare]
	for i, se := range idle {
		se.comeBack(i)
	}
	return len(idle)
}

// ample is how many sessions there are before places are short.
func (s *Server) ample() int64 { return s.Connections - s.Connections/short }

// relieve closes idle sessions while places are short, as many as are too many,
// and looks again after a while until they are not. Of many sessions it looks at
// some, another lot each time: those that go are the idlest of these (Redis evicts
// its keys so: redis.io/docs/latest/develop/reference/eviction).
func (s *Server) relieve() {
	s.mu.Lock()
	over := int64(len(s.sessions)) - s.parting - s.ample() + 1
	if over <= 0 || s.draining.Load() {
		s.relieving = false
		s.mu.Unlock()
		return
	}
	some := s.some(looksForIdle)
	s.mu.Unlock()
	idle := s.idle(some, waitsAfter)
	for i, se := range idle[:min(len(idle), int(over), closedAtOnce)] {
		if s.Limits.Idle.Stands() {
			s.makeWay(se)
			se.comeBack(i)
		}
	}
	s.Wheel.Set(&s.relief, relieveEvery, s.relieve)
}

// makeWay has a session that is closed count as gone.
func (s *Server) makeWay(se *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts(se)
}

// some gives up to so many sessions, from anywhere. The caller holds mu.
func (s *Server) some(most int) []*session {
	some := make([]*session, 0, min(most, len(s.sessions)))
	for se := range s.sessions { // which begins anywhere
		if len(some) == most {
			break
		}
		some = append(some, se)
	}
	return some
}

// comeBack closes an idle session, which is told to come again: not with all of
// them.
func (se *session) comeBack(i int) {
	se.closeAfter(protocol.CloseOverloaded, again(retryMS+int64(i%10)*retryMS/2))
}

// resting is a session that has asked for nothing for a while.
type resting struct {
	*session
	waiting bool // for something
	since   int64
}

// idlest orders those who wait for nothing before the others, the longest first.
func idlest(a, b resting) int {
	switch {
	case a.waiting == b.waiting:
		return cmp.Compare(a.since, b.since)
	case b.waiting:
		return -1
	}
	return 1
}

// idle gives those of the sessions that have asked for nothing for a minute and
// are in no match, the idlest first; who waits for something only after patience.
func (s *Server) idle(of []*session, patience time.Duration) []*session {
	var idle []resting
	now := s.Now()
	for _, se := range of {
		since := se.asked.Load()
		if now-since < idleAfter.Milliseconds() || !se.greeted.Load() || se.leaving.Load() != nil || se.inMatch() {
			continue
		}
		if r := (resting{se, se.waits(), since}); !r.waiting || now-since >= patience.Milliseconds() {
			idle = append(idle, r)
		}
	}
	slices.SortFunc(idle, idlest)
	sessions := make([]*session, len(idle))
	for i, r := range idle {
		sessions[i] = r.session
	}
	return sessions
}

// waits says whether a greeted session waits for something: an opponent, an arena
// to begin or one that it watches, a board to change.
func (se *session) waits() bool {
	return se.watches.count.Load() > 0 || se.server.Lobby.HasTicket(se.game, se.player) || se.server.Engine.IsFollowing(se.game, se.player)
}
