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

// entry is what becomes of a connection that has come.
type entry struct {
	code    int // 0: it is in
	reason  string
	instead *session // that gives way to it; nil for none
	abrupt  bool     // too many give way already: it is cut off
	alone   bool     // its address has its share, and nobody else has any
}

// enter registers a session, or says with what it has to be closed.
func (s *Server) enter(se *session) entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining.Load() {
		return entry{code: protocol.CloseDraining, reason: "draining"}
	}
	if l := s.Limits; l.PerAddress > 0 && s.each[se.from()] >= l.PerAddress && l.Crowded.Stands() {
		return entry{code: protocol.CloseOverloaded, reason: comeAgain, alone: len(s.each) == 1}
	}
	e := s.place(se)
	if e.code == 0 {
		s.admit(se)
	}
	return e
}

// place says whether there is a place for a session, and who gives way for it. The
// room for the silent is never shut: one of the address that has most of it goes,
// so that who comes from elsewhere can say hello. Where the node is full one goes
// too, if its address has more than that of the newcomer would. The caller holds mu.
func (s *Server) place(se *session) entry {
	victim, crowd := s.silents.largest()
	full := int64(len(s.sessions))-min(s.parting, awayAtOnce) >= s.Connections
	switch {
	case full && s.parting < awayAtOnce && crowd > s.silents.of(se.from())+1 && s.Limits.Silent.Stands(): // it goes
	case full && s.Limits.Full.Stands():
		return entry{code: protocol.CloseOverloaded, reason: comeAgain}
	case full, s.silents.count < max(s.Connections/silence, mostSilent), !s.Limits.Silent.Stands():
		return entry{} // there is room, or what lacks is on trial
	}
	e := entry{instead: victim, abrupt: s.parting >= awayAtOnce}
	s.silents.remove(victim)
	s.parts(victim)
	return e
}

// admit gives a session a place. The caller holds mu.
func (s *Server) admit(se *session) {
	open := int64(len(s.sessions))
	se.scarce = s.scarcity(se.from(), open)
	s.silents.add(se)
	s.each[se.from()]++
	s.beds.take(se)
	s.sessions[se] = struct{}{}
	s.running.Add(1)
	s.metrics.sessions.Set(float64(len(s.sessions)))
	if open >= s.ample() && !s.relieving {
		s.relieving = true
		s.Wheel.Set(&s.relief, relieveEvery, s.relieve)
	}
}

// parts notes that a session is about to leave: its place counts as free. The
// caller holds mu.
func (s *Server) parts(se *session) {
	if _, here := s.sessions[se]; here && !se.parting {
		se.parting = true
		s.parting++
	}
}

// giveWay closes a session for another's sake, which it is told unless many are.
func (se *session) giveWay(abrupt bool) {
	if abrupt {
		se.cut()
		return
	}
	se.close(protocol.CloseOverloaded, comeAgain)
}

// speaks notes that a session has said hello.
func (s *Server) speaks(se *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silents.remove(se)
}

func (s *Server) leave(se *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silents.remove(se)
	if s.each[se.from()]--; s.each[se.from()] == 0 {
		delete(s.each, se.from())
	}
	if se.parting {
		s.parting--
	}
	delete(s.sessions, se)
	s.metrics.sessions.Set(float64(len(s.sessions)))
}

// peer is the address at the other end of a request's connection.
func peer(r *http.Request) netip.Addr {
	at, _ := netip.ParseAddrPort(r.RemoteAddr) // invalid where it has none, as on a Unix socket
	return at.Addr()
}
