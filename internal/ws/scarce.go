package ws

import (
	"context"

	"laststand/internal/identity"
	"laststand/internal/limit"
	"laststand/internal/pressure"
	"laststand/internal/protocol"
)

// scarcity says why a session's place is only for a player who is in a match.
type scarcity uint8

const (
	plenty    scarcity = iota
	lastPlace          // it is one of the last of the node
	overShare          // its address has as many as there may be of one, so full as the node is
)

// leastShare divides PerAddress into what any address has, however full the node.
const leastShare = 20

// scarcity says how a newcomer's place is while so many are open. The caller
// holds mu.
func (s *Server) scarcity(from limit.Key, open int64) scarcity {
	switch {
	case open >= s.Connections-s.Connections/reserve:
		return lastPlace
	case s.Limits.PerAddress > 0 && s.each[from] >= s.share(open):
		return overShare
	}
	return plenty
}

// share is how many of one address may be there who are in no match: all of
// PerAddress until the node is half full, and from there on less in proportion to
// the places left. So the last places take ever more addresses to fill.
func (s *Server) share(open int64) int64 {
	all, half := s.Limits.PerAddress, s.Connections/2
	if open <= half || s.Connections == half {
		return all
	}
	left := float64(s.Connections-open) / float64(s.Connections-half)
	return max(int64(float64(all)*left), all/leastShare, 1)
}

// admitted refuses a player who is in no match, nor in an arena that is to begin,
// where the node is hard-pressed or places are scarce, or too many of those come
// back who say that they are in one: a resume alone is no proof, anyone can ask for
// one.
func (se *session) admitted(ctx context.Context, p identity.Player, resumes bool) error {
	s := se.server
	resumes = resumes && s.Limits.HellosInAll != nil
	if !resumes && (se.claims.Role != identity.RolePlayer || se.scarce == plenty && !s.Pressure.Presses(pressure.Entering)) {
		return nil
	}
	playing := se.claims.Role != identity.RolePlayer // a host
	if !playing {
		match, err := s.Lobby.Playing(ctx, p.Game, p.ID)
		if err != nil {
			return err
		}
		playing = match != nil
	}
	if resumes {
		if err := s.Limits.back(ctx, playing); err != nil {
			return err
		}
	}
	if playing {
		return nil
	}
	if refused := se.scarce.refuse(&s.Limits); refused != nil {
		return refused
	}
	return s.Pressure.Refuse(pressure.Entering)
}

// refuse refuses who is in no match.
func (c scarcity) refuse(l *Limits) error {
	switch {
	case c == lastPlace && l.Full.Stands():
		return protocol.RetryAfter(protocol.CodeOverloaded, retryMS, "the last places are for players in a match")
	case c == overShare && l.Crowded.Stands():
		return protocol.RetryAfter(protocol.CodeOverloaded, retryMS, "places are short: what is left for this address is for players in a match")
	}
	return nil
}
