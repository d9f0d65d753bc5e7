package identity_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"laststand/internal/identity"
	"laststand/internal/testenv"
)

// mint makes a token of a player that lasts an hour, signed with Ed25519.
func mint(key ed25519.PrivateKey, kid, game, sub string, now time.Time) (string, error) {
	header, err := json.Marshal(map[string]string{"alg": "EdDSA", "typ": "JWT", "kid": kid})
	if err != nil {
		return "", err
	}
	claims, err := json.Marshal(map[string]any{
		"sub": sub, "game": game, "role": "player", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		"jti": rand.Text(), "aud": "quiz.example",
	})
	if err != nil {
		return "", err
	}
	part := base64.RawURLEncoding.EncodeToString
	body := part(header) + "." + part(claims)
	return body + "." + part(ed25519.Sign(key, []byte(body))), nil
}

const sharedSecret = "0123456789abcdef0123456789abcdef"

// example returns the code block of a language in docs/integrate/tokens.md.
func example(t *testing.T, language string) string {
	t.Helper()
	text := testenv.Need(os.ReadFile("../../docs/integrate/tokens.md"))(t)
	_, block, found := strings.Cut(string(text), "```"+language+"\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed {
		t.Fatalf("docs/integrate/tokens.md has no example in %s", language)
	}
	return block
}

// documentedTokens returns the tokens of a server that is configured as in the
// examples.
func documentedTokens(t *testing.T, keys ...identity.Key) *identity.Tokens {
	t.Helper()
	tokens, err := identity.OpenTokens(t.Context(), identity.TokensConfig{
		Games: []string{demo}, Keys: emptyKeyStore{}, Now: func() int64 { return now }, Configured: map[string][]identity.Key{demo: keys},
		Rules: map[string]identity.TokenRules{demo: {Audience: "quiz.example", MaxTTL: 24 * time.Hour}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

// emptyKeyStore returns only the server's own key and stores no others.
type emptyKeyStore struct{}

func (emptyKeyStore) Keys(context.Context, string) ([]identity.Key, error) {
	return []identity.Key{{ID: "own", Alg: identity.HS256, Secret: []byte(sharedSecret)}}, nil
}
func (emptyKeyStore) AddKeyIfNone(context.Context, string, identity.Key) error { return nil }
func (emptyKeyStore) AddKey(context.Context, string, identity.Key) error       { return nil }
func (emptyKeyStore) RetireKey(context.Context, string, string, int64) error   { return nil }

func checkAccepted(t *testing.T, tokens *identity.Tokens, token string) {
	t.Helper()
	claims, err := tokens.Verify(t.Context(), token)
	if err != nil || claims.Subject != "user:4711" || claims.Role != identity.RolePlayer || claims.TokenID == "" || claims.ExpiresAt != claims.IssuedAt+time.Hour.Milliseconds() {
		t.Errorf("%+v, %v", claims, err)
	}
}

func TestGoExampleMintsAValidToken(t *testing.T) {
	t.Parallel()
	thisFile := testenv.Need(os.ReadFile("minting_test.go"))(t)
	if !strings.Contains(string(thisFile), "\n"+example(t, "go")) {
		t.Error("the Go example in docs/integrate/tokens.md differs from the function mint in this file")
	}
	tokens, private := loginTokens(t)
	token := testenv.Need(mint(private, "login", demo, "user:4711", time.UnixMilli(now)))(t)
	checkAccepted(t, tokens, token)
}

// loginTokens returns the tokens of a server that has the public key of a login service, and the
// private key.
func loginTokens(t *testing.T) (*identity.Tokens, ed25519.PrivateKey) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	pkix := testenv.Need(x509.MarshalPKIXPublicKey(public))(t)
	key := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: pkix})
	return documentedTokens(t, identity.Key{ID: "login", Alg: identity.EdDSA, Secret: key}), private
}

func TestJavaScriptExampleMintsAValidToken(t *testing.T) {
	t.Parallel()
	node, ok := testenv.Interpreter(t, "node")
	if !ok {
		return
	}
	tokens, private := loginTokens(t)
	pkcs8 := testenv.Need(x509.MarshalPKCS8PrivateKey(private))(t)
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
	call := "\nconsole.log(mint(`" + string(key) + "`, 'login', 'demo', 'user:4711', 1795212345));\n"
	checkAccepted(t, tokens, runExample(t, node, "mint.mjs", example(t, "js")+call))
}

func TestPythonExampleMintsAValidToken(t *testing.T) {
	t.Parallel()
	python, ok := testenv.Interpreter(t, "python3")
	if !ok {
		return
	}
	tokens := documentedTokens(t, identity.Key{ID: "guests", Alg: identity.HS256, Secret: []byte(sharedSecret)})
	call := "\nprint(mint(b'" + sharedSecret + "', 'guests', 'demo', 'user:4711', 1795212345))\n"
	checkAccepted(t, tokens, runExample(t, python, "mint.py", example(t, "python")+call))
}

// runExample runs a program and returns the line that it prints.
func runExample(t *testing.T, interpreter, file, program string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), file)
	testenv.NoError(t, os.WriteFile(path, []byte(program), 0o600))
	command := exec.CommandContext(t.Context(), interpreter, path)
	command.Stderr = os.Stderr
	out := testenv.Need(command.Output())(t)
	return strings.TrimSpace(string(out))
}
