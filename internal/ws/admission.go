package ws

import (
	"context"

	"laststand/internal/identity"
	"laststand/internal/overload"
	"laststand/internal/protocol"
)

// placeClass says which players may have a session's place. A place is one of the
// node's MaxConnections connections.
type placeClass uint8

const (
	placeForAnyone        placeClass = iota
	placeForPlaying                  // one of the node's last places: only for players in a match
	placeOverAddressShare            // the address has maxNotPlayingPerAddress sessions already: only for players in a match
)

// minShareDivisor sets the lowest result of maxNotPlayingPerAddress: one twentieth of
// Limits.PerAddress.
const minShareDivisor = 20

// classifyPlace returns the class of a new session's place; openSessions counts the
// sessions before it. The caller holds mu.
func (s *Server) classifyPlace(address overload.Key, openSessions int64) placeClass {
	switch {
	case openSessions >= s.MaxConnections-s.MaxConnections/reservedDivisor:
		return placeForPlaying
	case s.Limits.PerAddress > 0 && s.perAddress[address] >= s.maxNotPlayingPerAddress(openSessions):
		return placeOverAddressShare
	}
	return placeForAnyone
}

// maxNotPlayingPerAddress returns how many sessions one address may have whose players
// are in no match. While at most half of MaxConnections are open, it is PerAddress. Above
// that it falls in proportion to the free places, down to a twentieth of PerAddress. So
// an attacker needs more and more addresses to fill the last places.
//
// With MaxConnections 1,000 and PerAddress 200: 200 at 500 open sessions, 100 at 750, 20
// at 950.
func (s *Server) maxNotPlayingPerAddress(openSessions int64) int64 {
	perAddress, halfFull := s.Limits.PerAddress, s.MaxConnections/2
	if openSessions <= halfFull || s.MaxConnections == halfFull {
		return perAddress
	}
	freeFraction := float64(s.MaxConnections-openSessions) / float64(s.MaxConnections-halfFull)
	return max(int64(float64(perAddress)*freeFraction), perAddress/minShareDivisor, 1)
}

// checkAdmission rejects a player who is in no match and in no arena's lobby, if the node
// is overloaded or the place is reserved. It also rejects a resume above the limit of
// hellos. A resume does not prove that the player is in a match, since any client can
// send one.
func (se *session) checkAdmission(ctx context.Context, player identity.Player, isResume bool) error {
	server := se.server
	isLimitedResume := isResume && server.Limits.HellosPerNode != nil
	if !isLimitedResume && (se.claims.Role != identity.RolePlayer || se.placeClass == placeForAnyone && !server.LoadShedder.ShouldShed(overload.NewSessions)) {
		return nil
	}
	isPlaying := se.claims.Role != identity.RolePlayer // a host always counts as playing
	if !isPlaying {
		match, err := server.Lobby.RunningMatch(ctx, player.Game, player.ID)
		if err != nil {
			return err
		}
		isPlaying = match != nil
	}
	if isLimitedResume {
		if err := server.Limits.checkResume(ctx, isPlaying); err != nil {
			return err
		}
	}
	if isPlaying {
		return nil
	}
	if refusal := se.placeClass.checkNotPlaying(&server.Limits); refusal != nil {
		return refusal
	}
	return server.LoadShedder.Check(overload.NewSessions)
}

// checkNotPlaying rejects a player who is in no match, if places of this class are only
// for players in a match.
func (c placeClass) checkNotPlaying(limits *Limits) error {
	switch {
	case c == placeForPlaying && limits.TotalCap.Refuse():
		return protocol.RetryAfter(protocol.CodeOverloaded, retryMS, "the last places are reserved for players in a match")
	case c == placeOverAddressShare && limits.AddressCap.Refuse():
		return protocol.RetryAfter(protocol.CodeOverloaded, retryMS, "this address has too many connections; its last places are reserved for players in a match")
	}
	return nil
}
