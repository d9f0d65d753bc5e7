package ws

import (
	"context"

	"laststand/internal/identity"
	"laststand/internal/limit"
	"laststand/internal/loadshed"
	"laststand/internal/protocol"
)

// placeClass says which players may have a session's place. A place is one of the
// node's MaxConnections connections.
type admissionClass uint8

const (
	openAdmission    admissionClass = iota
	reservedPlace                   // one of the node's last places: only for players in a match
	overAddressShare                // the address has maxNotPlayingPerAddress sessions already: only for players in a match
)

// minShareDivisor sets the lowest result of maxNotPlayingPerAddress: one twentieth of
// Limits.PerAddress.
const minShareDivisor = 20

// classifyPlace returns the class of a new session's place; openSessions counts the
// sessions before it. The caller holds mu.
func (s *Server) classify(from limit.Key, open int64) admissionClass {
	switch {
	case open >= s.Connections-s.Connections/reservedShare:
		return reservedPlace
	case s.Limits.PerAddress > 0 && s.perAddress[from] >= s.addressShare(open):
		return overAddressShare
	}
	return openAdmission
}

// maxNotPlayingPerAddress returns how many sessions one address may have whose players
// are in no match. While at most half of MaxConnections are open, it is PerAddress. Above
// that it falls in proportion to the free places, down to a twentieth of PerAddress. So
// an attacker needs more and more addresses to fill the last places.
//
// With MaxConnections 1,000 and PerAddress 200: 200 at 500 open sessions, 100 at 750, 20
// at 950.
func (s *Server) addressShare(open int64) int64 {
	all, half := s.Limits.PerAddress, s.Connections/2
	if open <= half || s.Connections == half {
		return all
	}
	left := float64(s.Connections-open) / float64(s.Connections-half)
	return max(int64(float64(all)*left), all/minShareDivisor, 1)
}

// checkAdmission rejects a player who is in no match and in no arena's lobby, if the node
// is overloaded or the place is reserved. It also rejects a resume above the limit of
// hellos. A resume does not prove that the player is in a match, since any client can
// send one.
func (se *session) checkAdmission(ctx context.Context, p identity.Player, resumes bool) error {
	s := se.server
	resumes = resumes && s.Limits.HellosInAll != nil
	if !resumes && (se.claims.Role != identity.RolePlayer || se.class == openAdmission && !s.LoadShedder.ShouldShed(loadshed.NewSessions)) {
		return nil
	}
	playing := se.claims.Role != identity.RolePlayer // a host always counts as playing
	if !playing {
		match, err := s.Lobby.Playing(ctx, p.Game, p.ID)
		if err != nil {
			return err
		}
		playing = match != nil
	}
	if resumes {
		if err := s.Limits.checkResume(ctx, playing); err != nil {
			return err
		}
	}
	if playing {
		return nil
	}
	if refused := se.class.check(&s.Limits); refused != nil {
		return refused
	}
	return s.LoadShedder.Check(loadshed.NewSessions)
}

// checkNotPlaying rejects a player who is in no match, if places of this class are only
// for players in a match.
func (c admissionClass) check(l *Limits) error {
	switch {
	case c == reservedPlace && l.TotalCap.Refuse():
		return protocol.RetryAfter(protocol.CodeOverloaded, retryMS, "the last places are reserved for players in a match")
	case c == overAddressShare && l.AddressCap.Refuse():
		return protocol.RetryAfter(protocol.CodeOverloaded, retryMS, "this address has too many connections; its last places are reserved for players in a match")
	}
	return nil
}
