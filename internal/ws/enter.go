package ws

import (
	"net/http"
	"net/netip"

	"laststand/internal/protocol"
)

// What a node keeps of its connections, and for whom.
const (
	reserve    = 20 // the last twentieth are for players who are in a match
	silence    = 10 // a tenth may have said no hello yet
	mostSilent = 64 // or so many, where that is more
)

// enter registers a session, or says with what it has to be closed.
func (s *Server) enter(se *session) (code int, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining.Load() {
		return protocol.CloseDraining, "draining"
	}
	if s.refuses(se) {
		return protocol.CloseOverloaded, comeAgain
	}
	open := int64(len(s.sessions))
	se.reserved = open >= s.Connections-s.Connections/reserve
	se.silent = true
	s.silent++
	s.each[se.from]++
	s.sessions[se] = struct{}{}
	s.running.Add(1)
	s.metrics.sessions.Set(float64(len(s.sessions)))
	return 0, ""
}

// refuses says whether there is no place for a session. The caller holds mu.
func (s *Server) refuses(se *session) bool {
	l := s.Limits
	return int64(len(s.sessions)) >= s.Connections && l.Full.Stands() ||
		l.PerAddress > 0 && s.each[se.from] >= l.PerAddress && l.Crowded.Stands() ||
		s.silent >= max(s.Connections/silence, mostSilent) && l.Silent.Stands()
}

// speaks notes that a session has said hello.
func (s *Server) speaks(se *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heardOf(se)
}

func (s *Server) leave(se *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heardOf(se)
	if s.each[se.from]--; s.each[se.from] == 0 {
		delete(s.each, se.from)
	}
	delete(s.sessions, se)
	s.metrics.sessions.Set(float64(len(s.sessions)))
}

// heardOf takes a session from those that are silent. The caller holds mu.
func (s *Server) heardOf(se *session) {
	if se.silent {
		se.silent = false
		s.silent--
	}
}

// peer is the address at the other end of a request's connection.
func peer(r *http.Request) netip.Addr {
	at, _ := netip.ParseAddrPort(r.RemoteAddr) // invalid where it has none, as on a Unix socket
	return at.Addr()
}
