package playerevents

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"

	"laststand/internal/eventq"
)

// stay is a visit at this node.
type session struct {
	game, player string
	pi           string // of a verified player
	device       string // of a guest
	id           string // 32 hex digits, of its own
	isRecorded   bool   // its end is reported though this node is lost
}

// newStay begins a visit, which has a session that no other has.
func newSession(game, player, pi string) *session {
	var id [16]byte
	rand.Read(id[:]) // never fails
	s := &session{game: game, player: player, pi: pi, id: hex.EncodeToString(id[:])}
	if pi == "" {
		s.device = deviceOf(game, player)
	}
	return s
}

// does is a behaviour of the visit's player.
func (s *session) behaviour(kind, id string, at int64) eventq.Behaviour {
	account := eventq.Verified
	if s.pi == "" {
		account = eventq.Guest
	}
	return eventq.Behaviour{
		ID: id, Type: kind, At: at, Player: s.player, Device: s.device, Session: s.id, Account: account, PI: s.pi,
	}
}

// online and offline have ids by which a repeat is found: also that of another
// node, which reports an end for this one.
func (s *session) online(at int64) eventq.Behaviour {
	return s.behaviour(eventq.Online, "on:"+s.id, at)
}

func (s *session) offline(at int64) eventq.Behaviour {
	return s.behaviour(eventq.Offline, "off:"+s.id, at)
}

// entry is the visit as Attendance keeps it.
func (s *session) record(seenAt int64) SessionRecord {
	return SessionRecord{Game: s.game, Session: s.id, Offline: s.offline(seenAt)}
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
