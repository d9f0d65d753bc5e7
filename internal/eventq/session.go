package eventq

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
)

// session is a session of a player at this node.
type session struct {
	game       string
	player     Behaviour // what all its behaviours have in common
	isRecorded bool      // another node reports its end if this node is lost
}

// newSession begins a session with a unique id. The player is a guest if there is no
// pi.
func newSession(game, player, pi string) *session {
	var id [16]byte
	rand.Read(id[:]) // never fails
	b := Behaviour{Player: player, Session: hex.EncodeToString(id[:]), Account: Verified, PI: pi}
	if pi == "" {
		b.Account, b.Device = Guest, deviceOf(game, player)
	}
	return &session{game: game, player: b}
}

// behaviour returns a behaviour of the session's player.
func (s *session) behaviour(kind, id string, at int64) Behaviour {
	b := s.player
	b.Type, b.ID, b.At = kind, id, at
	return b
}

// online and offline have fixed ids, so that the queue recognizes repeats. Another
// node that reports the end for this one uses the same id.
func (s *session) online(at int64) Behaviour { return s.behaviour(Online, "on:"+s.player.Session, at) }

// record returns the session as it is stored.
func (s *session) record(at int64, ended bool) SessionRecord {
	offline := s.behaviour(Offline, "off:"+s.player.Session, at)
	return SessionRecord{Game: s.game, Session: s.player.Session, Offline: offline, Ended: ended}
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
