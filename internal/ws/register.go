package ws

import (
	"net/http"
	"net/netip"

	"laststand/internal/protocol"
)

// Shares of a node's places, as divisors of Config.MaxConnections.
const (
	reservedDivisor      = 20 // the last twentieth of the places is for players in a match
	pendingHelloDivisor  = 10 // at most a tenth of the places may have sessions without a hello
	minPendingHelloLimit = 64 // the limit of sessions without a hello is at least this
)

// registration is the outcome of registering a connection.
type registration struct {
	closeCode       int // close code if the connection is rejected, 0 if the session is registered
	closeReason     string
	victim          *session // the session to evict for this one, nil for none
	abortVictim     bool     // evict without a close frame, because too many sessions are being evicted
	isSingleAddress bool     // the address has PerAddress sessions, and no other address is connected
}

// register adds a session to the server, or returns the close code to reject it with.
func (s *Server) register(se *session) registration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining.Load() {
		return registration{closeCode: protocol.CloseDraining, closeReason: "draining"}
	}
	if limits := s.Limits; limits.PerAddress > 0 && s.perAddress[se.addressKey()] >= limits.PerAddress && limits.AddressCap.Refuse() {
		return registration{closeCode: protocol.CloseOverloaded, closeReason: retryReason, isSingleAddress: len(s.perAddress) == 1}
	}
	result := s.findPlace(se)
	if result.closeCode == 0 {
		s.addSession(se)
	}
	return result
}

// findPlace decides whether a new session gets a place, and which session to evict for
// it. The caller holds mu.
//
// If the sessions without a hello are at their limit, the new session evicts one of them:
// the oldest one of the address with the most. If the node is full, the new session
// evicts that session too, but only if its address has more sessions without a hello than
// the new session's address would have. Otherwise a full node rejects the new session.
func (s *Server) findPlace(se *session) registration {
	victim, victimAddressCount := s.pendingHello.evictionCandidate()
	isFull := int64(len(s.sessions))-min(s.evictedCount, maxRejecting) >= s.MaxConnections
	switch {
	case isFull && s.evictedCount < maxRejecting && victimAddressCount > s.pendingHello.countForAddress(se.addressKey())+1 && s.Limits.PendingHelloCap.Refuse(): // the victim is evicted below
	case isFull && s.Limits.TotalCap.Refuse():
		return registration{closeCode: protocol.CloseOverloaded, closeReason: retryReason}
	case isFull, s.pendingHello.count < max(s.MaxConnections/pendingHelloDivisor, minPendingHelloLimit), !s.Limits.PendingHelloCap.Refuse():
		return registration{} // there is a place, or the limit is not enforced
	}
	result := registration{victim: victim, abortVictim: s.evictedCount >= maxRejecting}
	s.pendingHello.remove(victim)
	s.markEvictedLocked(victim)
	return result
}

// addSession adds a session that has a place, and schedules evictIdle if the node is
// nearly full. The caller holds mu.
func (s *Server) addSession(se *session) {
	openSessions := int64(len(s.sessions))
	se.placeClass = s.classifyPlace(se.addressKey(), openSessions)
	s.pendingHello.add(se)
	s.perAddress[se.addressKey()]++
	s.parker.assignSlot(se)
	s.sessions[se] = struct{}{}
	s.runningSessions.Add(1)
	s.metrics.sessions.Set(float64(len(s.sessions)))
	if openSessions >= s.lowPlacesAt() && !s.evictScheduled {
		s.evictScheduled = true
		s.Wheel.Set(&s.evictTimer, evictInterval, s.evictIdle)
	}
}

// markEvictedLocked counts a session as evicted: it is still closing, but its place is
// free. The caller holds mu.
func (s *Server) markEvictedLocked(se *session) {
	if _, registered := s.sessions[se]; registered && !se.evicted {
		se.evicted = true
		s.evictedCount++
	}
}

// evict closes a session so that another gets its place. If abort is true, it sends no
// close frame.
func (se *session) evict(abort bool) {
	if abort {
		se.abort()
		return
	}
	se.close(protocol.CloseOverloaded, retryReason)
}

// removePendingHello is called when a session has sent its hello.
func (s *Server) removePendingHello(se *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pendingHello.remove(se)
}

// removeSession removes a session that has ended.
func (s *Server) removeSession(se *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pendingHello.remove(se)
	if s.perAddress[se.addressKey()]--; s.perAddress[se.addressKey()] == 0 {
		delete(s.perAddress, se.addressKey())
	}
	if se.evicted {
		s.evictedCount--
	}
	delete(s.sessions, se)
	s.metrics.sessions.Set(float64(len(s.sessions)))
}

// remoteAddress returns the peer's address of a request's connection.
func remoteAddress(r *http.Request) netip.Addr {
	addrPort, _ := netip.ParseAddrPort(r.RemoteAddr) // invalid without an IP address, as on a Unix socket
	return addrPort.Addr()
}
