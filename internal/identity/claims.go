package identity

import (
	"strings"
	"time"
)

// Role says what the bearer of a token may do.
type Role string

// The roles of the wire contract.
const (
	RolePlayer  Role = "player"
	RoleHost    Role = "host"    // makes arenas that count
	RoleService Role = "service" // an operator's program
	RoleAdmin   Role = "admin"   // of the whole server, not of a game
)

// Claims are the content of a token.
type Claims struct {
	Subject   string // a player's id, or the name of an operator's program
	Game      string // "" for an admin; never "" for another role
	Role      Role
	PI        string // id of a verified player in the real-name system of the NPPA; "": a guest
	TokenID   string // the claim jti, by which this one token can be revoked; "": it cannot
	KeyID     string // id of the key that signed the token
	IssuedAt  int64  // epoch ms, on whole seconds
	ExpiresAt int64  // epoch ms

	missedReads int64 // value of Revocations.missedReads when the token was verified
}

const (
	// GuestTTL is how long a guest's token is valid. The device can get a new
	// token at any time.
	GuestTTL = 30 * 24 * time.Hour
	// Leeway is how far the clock of a token's signer may be ahead of the server's.
	Leeway = 30 * time.Second
)

// validate returns an error that wraps ErrToken for claims that no token may have.
func (c Claims) validate() error {
	switch c.Role {
	case RolePlayer, RoleHost, RoleService:
		if c.Game == "" {
			return refuse(ErrTokenGame, "role %s needs the claim game", c.Role)
		}
	case RoleAdmin:
		if c.Game != "" {
			return refuse(ErrTokenGame, "role admin must have no game")
		}
	default:
		return refuse(ErrTokenRole, "unknown role; use %s, %s, %s or %s", RolePlayer, RoleHost, RoleService, RoleAdmin)
	}
	if !ValidID(c.Subject) || c.Subject == reservedID {
		return ErrTokenSubject
	}
	if c.PI != "" && (c.Role != RolePlayer || !validPI(c.PI)) {
		return ErrTokenPI
	}
	return nil
}

// maxIDBytes is the longest id of the wire contract, in bytes.
const maxIDBytes = 64

// reservedID is the path segment for the calling player. No player may have it as id.
const reservedID = "me"

// ValidID reports whether s is an id of the wire contract: 1 to 64 of
// A-Z a-z 0-9 _ . : -
func ValidID(id string) bool {
	return id != "" && len(id) <= maxIDBytes && !strings.ContainsFunc(id, func(c rune) bool {
		return !isAlphanumeric(c) && !strings.ContainsRune("_.:-", c)
	})
}

// piBytes is the length of an id of the NPPA.
const piBytes = 38

// validPI reports whether s has the form of an id of the NPPA: 38 of a-z 0-9.
func validPI(pi string) bool {
	return len(pi) == piBytes && !strings.ContainsFunc(pi, func(c rune) bool {
		return !isAlphanumeric(c) || 'A' <= c && c <= 'Z'
	})
}

func isAlphanumeric(char rune) bool {
	return 'a' <= char && char <= 'z' || 'A' <= char && char <= 'Z' || '0' <= char && char <= '9'
}
