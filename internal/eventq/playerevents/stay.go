package playerevents

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"

	"laststand/internal/eventq"
)

// stay is a visit at this node.
type stay struct {
	game, player string
	pi           string // of a verified player
	device       string // of a guest
	session      string // 32 hex digits, of its own
	listed       bool   // its end is reported though this node is lost
}

// newStay begins a visit, which has a session that no other has.
func newStay(game, player, pi string) *stay {
	var session [16]byte
	rand.Read(session[:]) // never fails
	s := &stay{game: game, player: player, pi: pi, session: hex.EncodeToString(session[:])}
	if pi == "" {
		s.device = deviceOf(game, player)
	}
	return s
}

// does is a behaviour of the visit's player.
func (s *stay) does(kind, id string, at int64) eventq.Behaviour {
	account := eventq.Verified
	if s.pi == "" {
		account = eventq.Guest
	}
	return eventq.Behaviour{
		ID: id, Type: kind, At: at, Player: s.player, Device: s.device, Session: s.session, Account: account, PI: s.pi,
	}
}

// online and offline have ids by which a repeat is found: also that of another
// node, which reports an end for this one.
func (s *stay) online(at int64) eventq.Behaviour {
	return s.does(eventq.Online, "on:"+s.session, at)
}

func (s *stay) offline(at int64) eventq.Behaviour {
	return s.does(eventq.Offline, "off:"+s.session, at)
}

// entry is the visit as Attendance keeps it.
func (s *stay) entry(seenAt int64) Visit {
	return Visit{Game: s.game, Session: s.session, Offline: s.offline(seenAt)}
}

// deviceOf stands for a guest's device, whose secret is never told: the same for
// the same player, 32 hex digits.
func deviceOf(game, player string) string { return digest("laststand guest device", game, player) }

// digest is 32 hex digits of what is said, in which its parts stay apart.
func digest(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write([]byte(part + "\x00"))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
