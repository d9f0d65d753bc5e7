package ws

import (
	"net/http"
	"net/netip"

	"laststand/internal/protocol"
)

// Shares of a node's places, as divisors of Config.MaxConnections.
const (
	reservedShare     = 20 // the last twentieth of the places is for players in a match
	pendingHelloShare = 10 // at most a tenth of the places may have sessions without a hello
	minPendingHello   = 64 // the limit of sessions without a hello is at least this
)

// registration is the outcome of registering a connection.
type registration struct {
	code        int // close code if the connection is rejected, 0 if the session is registered
	reason      string
	evict       *session // the session to evict for this one, nil for none
	abrupt      bool     // evict without a close frame, because too many sessions are being evicted
	onlyAddress bool     // the address has PerAddress sessions, and no other address is connected
}

// register adds a session to the server, or returns the close code to reject it with.
func (s *Server) register(se *session) registration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining.Load() {
		return registration{code: protocol.CloseDraining, reason: "draining"}
	}
	if l := s.Limits; l.PerAddress > 0 && s.perAddress[se.addressKey()] >= l.PerAddress && l.AddressCap.Refuse() {
		return registration{code: protocol.CloseOverloaded, reason: retryReason, onlyAddress: len(s.perAddress) == 1}
	}
	e := s.findPlace(se)
	if e.code == 0 {
		s.admit(se)
	}
	return e
}

// findPlace decides whether a new session gets a place, and which session to evict for
// it. The caller holds mu.
//
// If the sessions without a hello are at their limit, the new session evicts one of them:
// the oldest one of the address with the most. If the node is full, the new session
// evicts that session too, but only if its address has more sessions without a hello than
// the new session's address would have. Otherwise a full node rejects the new session.
func (s *Server) findPlace(se *session) registration {
	victim, held := s.pendingHello.evictionCandidate()
	full := int64(len(s.sessions))-min(s.evicted, maxRejecting) >= s.Connections
	switch {
	case full && s.evicted < maxRejecting && held > s.pendingHello.countOf(se.addressKey())+1 && s.Limits.PendingHelloCap.Refuse(): // the victim is evicted below
	case full && s.Limits.TotalCap.Refuse():
		return registration{code: protocol.CloseOverloaded, reason: retryReason}
	case full, s.pendingHello.count < max(s.Connections/pendingHelloShare, minPendingHello), !s.Limits.PendingHelloCap.Refuse():
		return registration{} // there is a place, or the limit is not enforced
	}
	e := registration{evict: victim, abrupt: s.evicted >= maxRejecting}
	s.pendingHello.remove(victim)
	s.markEvictedLocked(victim)
	return e
}

// addSession adds a session that has a place, and schedules evictIdle if the node is
// nearly full. The caller holds mu.
func (s *Server) admit(se *session) {
	open := int64(len(s.sessions))
	se.class = s.classify(se.addressKey(), open)
	s.pendingHello.add(se)
	s.perAddress[se.addressKey()]++
	s.parker.addSlot(se)
	s.sessions[se] = struct{}{}
	s.running.Add(1)
	s.metrics.sessions.Set(float64(len(s.sessions)))
	if open >= s.lowPlacesAt() && !s.evictSet {
		s.evictSet = true
		s.Wheel.Set(&s.evictTimer, evictEvery, s.evictIdle)
	}
}

// markEvictedLocked counts a session as evicted: it is still closing, but its place is
// free. The caller holds mu.
func (s *Server) markEvictedLocked(se *session) {
	if _, registered := s.sessions[se]; registered && !se.evicted {
		se.evicted = true
		s.evicted++
	}
}

// evict closes a session so that another gets its place. If abort is true, it sends no
// close frame.
func (se *session) evict(abrupt bool) {
	if abrupt {
		se.abort()
		return
	}
	se.close(protocol.CloseOverloaded, retryReason)
}

// removePendingHello is called when a session has sent its hello.
func (s *Server) helloReceived(se *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pendingHello.remove(se)
}

// removeSession removes a session that has ended.
func (s *Server) unregister(se *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pendingHello.remove(se)
	if s.perAddress[se.addressKey()]--; s.perAddress[se.addressKey()] == 0 {
		delete(s.perAddress, se.addressKey())
	}
	if se.evicted {
		s.evicted--
	}
	delete(s.sessions, se)
	s.metrics.sessions.Set(float64(len(s.sessions)))
}

// remoteAddress returns the peer's address of a request's connection.
func remoteAddress(r *http.Request) netip.Addr {
	addrPort, _ := netip.ParseAddrPort(r.RemoteAddr) // invalid without an IP address, as on a Unix socket
	return addrPort.Addr()
}
