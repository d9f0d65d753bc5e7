package testenv

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// secret signs the tokens of the games that have KeysYAML.
const secret = "a secret that only load programs know"

// KeyID names the key of secret.
const KeyID = "load"

// KeysYAML is the setting of a game that accepts the tokens of Token and Sign.
const KeysYAML = "keys: [{id: " + KeyID + ", alg: HS256, secret_file: load.key}]"

// WriteKey writes the key of KeysYAML beside a configuration.
func WriteKey(t testing.TB, config string) {
	t.Helper()
	WriteBeside(t, config, "load.key", secret)
}

// Token mints a token of the game demo that is valid for an hour. Nodes with KeysYAML
// accept it.
func Token(role, sub string) (string, error) {
	return Sign(Claims("demo", role, sub))
}

// Claims returns the claims of a token that is valid for an hour.
func Claims(game, role, sub string) jwt.MapClaims {
	now := time.Now()
	return jwt.MapClaims{
		"sub": sub, "game": game, "role": role, "iat": now.Add(-time.Second).Unix(), "exp": now.Add(time.Hour).Unix(),
	}
}

// Sign mints a token with the given claims.
func Sign(claims jwt.MapClaims) (string, error) {
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, claims)
	token.Header["kid"] = KeyID
	return token.SignedString([]byte(secret))
}

// AdminToken returns a token with the role admin. The first call mints it, as an operator
// does.
func (n *Node) AdminToken(ctx context.Context) (token string, err error) {
	defer Recover(&err)
	n.adminMu.Lock()
	defer n.adminMu.Unlock()
	if n.admin != "" {
		return n.admin, nil
	}
	n.admin = n.command(ctx, append([]string{"token", "--role=admin", "--sub=load"}, n.flags...)...)
	return n.admin, nil
}

// KeyFile returns the path of the key that signs the tokens of the game demo.
func (n *Node) KeyFile() string { return filepath.Join(n.Dir, "load.key") }
