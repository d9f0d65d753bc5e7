package identity

import (
	"fmt"
	"strings"
	"time"
)

// Role is what the bearer of a token may do.
type Role string

// The roles of the wire contract.
const (
	RolePlayer  Role = "player"
	RoleHost    Role = "host"    // makes arenas that count
	RoleService Role = "service" // an operator's program
	RoleAdmin   Role = "admin"   // of the whole server, not of a game
)

// Claims are what a token says. Game is empty for an admin, and only then.
type Claims struct {
	Subject   string // a player's id, or the name of an operator's program
	Game      string
	Role      Role
	PI        string // a verified player's id at the NPPA; "": a guest
	ID        string // jti, by which this one token can be revoked; "": it cannot
	Key       string // id of the key that signed it
	IssuedAt  int64  // epoch ms, on whole seconds
	ExpiresAt int64  // epoch ms

	missedReads int64 // Revocations.missedReads when the token was verified
}

const (
	// GuestTTL is how long a guest's token lasts. The device gets a new one
	// at any time.
	GuestTTL = 30 * 24 * time.Hour
	// Leeway is how far ahead the clock of the token's signer may be.
	Leeway = 30 * time.Second
)

// maxID bounds an id of the wire contract, in bytes.
const maxID = 64

// reserved is the path segment for the calling player. It is no valid id.
const reserved = "me"

// ValidID reports whether s is an id of the wire contract: 1 to 64 of
// A-Z a-z 0-9 _ . : -
func ValidID(s string) bool {
	return s != "" && len(s) <= maxID && !strings.ContainsFunc(s, func(c rune) bool {
		return !isAlphanumeric(c) && !strings.ContainsRune("_.:-", c)
	})
}

// piLen is how long an id at the NPPA is.
const piLen = 38

// validPI reports whether s is an id as the NPPA gives it: 38 of a-z 0-9.
func validPI(s string) bool {
	return len(s) == piLen && !strings.ContainsFunc(s, func(c rune) bool {
		return !isAlphanumeric(c) || 'A' <= c && c <= 'Z'
	})
}

func isAlphanumeric(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// check refuses claims that no token may carry.
func (c Claims) check() error {
	switch c.Role {
	case RolePlayer, RoleHost, RoleService:
		if c.Game == "" {
			return fmt.Errorf("%w: role %s needs a game", ErrTokenGame, c.Role)
		}
	case RoleAdmin:
		if c.Game != "" {
			return fmt.Errorf("%w: an admin is in no game", ErrTokenGame)
		}
	default:
		return ErrTokenRole
	}
	if !ValidID(c.Subject) || c.Subject == reserved {
		return ErrTokenSubject
	}
	if c.PI != "" && (c.Role != RolePlayer || !validPI(c.PI)) {
		return ErrTokenPI
	}
	return nil
}
