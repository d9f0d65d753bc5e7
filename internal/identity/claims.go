package identity

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
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
	if c.PI != "" && (c.Role != RolePlayer || !piPattern.MatchString(c.PI)) {
		return ErrTokenPI
	}
	return nil
}

// maxIDBytes is the longest id of the wire contract, in bytes.
const maxIDBytes = 64

// reservedID is the path segment for the calling player. No player may have it as id.
const reservedID = "me"

// idCharacters are the characters of ids.
const idCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-"

// ValidID reports whether a text is an id of the wire contract: 1 to 64 of
// A-Z a-z 0-9 _ . : -
func ValidID(id string) bool {
	return id != "" && len(id) <= maxIDBytes && strings.Trim(id, idCharacters) == ""
}

var piPattern = regexp.MustCompile(`^[a-z0-9]{38}$`) // an id of the NPPA

// TokenRules are a game's rules for tokens besides the signature.
type TokenRules struct {
	// Audience must be in aud. If Audience is "", aud must be absent, or name the game
	// or ServerAudience.
	Audience string
	MaxTTL   time.Duration // maximum of exp minus iat; 0: no limit
}

// ServerAudience is accepted in aud for admins and for every game without its own
// Audience.
const ServerAudience = "laststand"

func (r TokenRules) checkAudience(aud []string, game string) error {
	if r.isForAudience(aud, game) {
		return nil
	}
	if r.Audience == "" {
		allowed := fmt.Sprintf("%q", ServerAudience)
		if game != "" {
			allowed = fmt.Sprintf("%q or %s", game, allowed)
		}
		return refuse(ErrTokenAudience, "aud must be absent, or be %s", allowed)
	}
	verb := "must be"
	if len(aud) == 0 {
		verb = "is missing; it must be"
	}
	return refuse(ErrTokenAudience, "aud %s %q, the value of games.%s.token_audience", verb, r.Audience, game)
}

func (r TokenRules) checkLifetime(ttl time.Duration, game string) error {
	if r.MaxTTL == 0 || ttl <= r.MaxTTL {
		return nil
	}
	return refuse(ErrTokenLifetime, "exp is %v after iat; games.%s.max_token_ttl allows %v", ttl, game, r.MaxTTL)
}

func (r TokenRules) isForAudience(aud []string, game string) bool {
	if r.Audience != "" {
		return slices.Contains(aud, r.Audience)
	}
	return len(aud) == 0 || slices.Contains(aud, ServerAudience) || game != "" && slices.Contains(aud, game)
}

// audience returns the claim aud of a minted token; nil: none.
func (r TokenRules) audience() jwt.ClaimStrings {
	if r.Audience == "" {
		return nil
	}
	return jwt.ClaimStrings{r.Audience}
}
