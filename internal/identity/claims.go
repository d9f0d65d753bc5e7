package identity

import (
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
