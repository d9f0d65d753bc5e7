package harness

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// secret signs the tokens of the games that have KeysYAML.
const secret = "a secret that only load programs know"

// KeyID names the key of secret.
const KeyID = "load"

// KeysYAML is the setting of a game that accepts the tokens of Token and Sign.
const KeysYAML = "keys: [{id: " + KeyID + ", alg: HS256, secret_file: load.key}]"

// Token mints a token of the game demo that is valid for an hour. The servers of this
// package accept it.
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

// Admin mints a token with the role admin, as an operator does.
func (s *Server) Admin(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, s.options.Binary, append([]string{"token", "--role=admin", "--sub=load"}, s.stores...)...)
	cmd.Env = append(os.Environ(), s.options.Env...)
	var text strings.Builder
	cmd.Stderr = &text
	held, err := cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	defer held.Close()
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("server token: %w: %s", err, text.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// KeyFile returns the path of the key that signs the game's tokens.
func (s *Server) KeyFile() string { return filepath.Join(s.dir, "load.key") }
