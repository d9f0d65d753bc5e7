package playerevents

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"

	"laststand/internal/eventq"
)

// session is a session of a player at this node.
type session struct {
	game, player string
	pi           string // of a verified player
	device       string // of a guest
	id           string // 32 hex digits, of its own
	isRecorded   bool   // another node reports its end if this node is lost
}

// newSession begins a session with a unique id.
func newSession(game, player, pi string) *session {
	var id [16]byte
	rand.Read(id[:]) // never fails
	s := &session{game: game, player: player, pi: pi, id: hex.EncodeToString(id[:])}
	if pi == "" {
		s.device = deviceOf(game, player)
	}
	return s
}

// behaviour returns a behaviour of the session's player.
func (s *session) behaviour(kind, id string, at int64) eventq.Behaviour {
	account := eventq.Verified
	if s.pi == "" {
		account = eventq.Guest
	}
	return eventq.Behaviour{
		ID: id, Type: kind, At: at, Player: s.player, Device: s.device, Session: s.id, Account: account, PI: s.pi,
	}
}

// online and offline have fixed ids, so that the queue recognizes repeats. Another
// node that reports the end for this one uses the same id.
func (s *session) online(at int64) eventq.Behaviour {
	return s.behaviour(eventq.Online, "on:"+s.id, at)
}

func (s *session) offline(at int64) eventq.Behaviour {
	return s.behaviour(eventq.Offline, "off:"+s.id, at)
}

// record returns the session in the form of the SessionStore.
func (s *session) record(seenAt int64) SessionRecord {
	return SessionRecord{Game: s.game, Session: s.id, Offline: s.offline(seenAt)}
}

// deviceOf stands for a guest's device, whose secret is never reported. It is the
// same for the same player, 32 hex digits.
func deviceOf(game, player string) string { return digest("laststand guest device", game, player) }

// digest returns 32 hex digits. It hashes the parts with separators.
func digest(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write([]byte(part + "\x00"))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
