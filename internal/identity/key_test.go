package identity

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strings"
	"sync"
	"testing"

	"laststand/internal/testenv"
)

// newEd25519Keys returns a new Ed25519 key pair as two PEM files.
func newEd25519Keys(t testing.TB) (public, private []byte) {
	t.Helper()
	pub, priv, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	pkix := testenv.Need(x509.MarshalPKIXPublicKey(pub))(t)
	pkcs8 := testenv.Need(x509.MarshalPKCS8PrivateKey(priv))(t)
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: pkix}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
}

func TestReadKeyRefusesInvalidFiles(t *testing.T) {
	t.Parallel()
	public, private := newEd25519Keys(t)
	ecdsaKey := testenv.Need(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	ecdsaPKCS8 := testenv.Need(x509.MarshalPKCS8PrivateKey(ecdsaKey))(t)
	secret := strings.Repeat("s", 32)
	tests := []struct{ name, id, alg, file, want string }{
		{"secret", "k1", HS256, secret, ""},
		{"secret of a file with a newline", "k1", HS256, secret + "\n", ""},
		{"PEM as a secret", "k1", HS256, "-----BEGIN PUBLIC KEY-----\n" + secret + "\n-----END PUBLIC KEY-----\n", "a key pair or certificate cannot be the secret"},
		{"PEM as a secret, after a space", "k1", HS256, "\n -----BEGIN" + secret, "a key pair or certificate cannot be the secret"},
		{"PEM as a secret, after a byte order mark", "k1", HS256, "\xef\xbb\xbf" + string(public), "a key pair or certificate cannot be the secret"},
		{"PEM as a secret, after a comment", "k1", HS256, "Bag Attributes\n" + string(public), "a key pair or certificate cannot be the secret"},
		{"public key as DER", "k1", HS256, string(decodePEM(public)), "a key pair or certificate cannot be the secret"},
		{"public key as base64", "k1", HS256, base64.StdEncoding.EncodeToString(decodePEM(public)) + "\n", "a key pair or certificate cannot be the secret"},
		{"OpenSSH public key", "k1", HS256, "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + secret, "a key pair or certificate cannot be the secret"},
		{"secret in base64", "k1", HS256, base64.StdEncoding.EncodeToString([]byte(secret)), ""},
		{"short secret", "k1", HS256, secret[1:], "31 bytes"},
		{"secret that is too short without its newline", "k1", HS256, secret[1:] + "\n", "31 bytes"},
		{"public key", "k1", EdDSA, string(public), ""},
		{"private key", "k1", EdDSA, string(private), ""},
		{"no PEM", "k1", EdDSA, secret, "not one PEM block"},
		{"two blocks", "k1", EdDSA, string(public) + string(private), "not one PEM block"},
		{"another block", "k1", EdDSA, "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n", `"CERTIFICATE"`},
		{"broken block", "k1", EdDSA, "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "cannot be read"},
		{"another curve", "k1", EdDSA, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: ecdsaPKCS8})), "Ed25519"},
		{"no algorithm", "k1", "none", secret, "unknown alg"},
		{"another algorithm", "k1", "RS256", secret, "unknown alg"},
		{"no id", "", HS256, secret, "id must be"},
		{"bad id", "k 1", HS256, secret, "id must be"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := ReadKey(tt.id, tt.alg, []byte(tt.file))
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("ReadKey: %v, want %q", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), secret[:20]) {
				t.Errorf("the error shows the secret: %v", err)
			}
		})
	}
}

func TestReadKeyRemovesOneNewline(t *testing.T) {
	t.Parallel()
	key, err := ReadKey("k1", HS256, []byte(strings.Repeat("s", 31)+"\n\n"))
	if err != nil || !bytes.Equal(key.Secret, []byte(strings.Repeat("s", 31)+"\n")) {
		t.Errorf("secret %q, %v", key.Secret, err)
	}
}

func TestNodesThatStartTogetherShareGeneratedKeys(t *testing.T) {
	t.Parallel()
	store := newStore()
	nodes := make([]*Tokens, 8)
	var starts sync.WaitGroup
	for i := range nodes {
		starts.Go(func() { nodes[i] = openTestTokens(t, store, nil) })
	}
	starts.Wait()
	for i, node := range nodes {
		token, _, err := node.Mint(Claims{Subject: "p_1", Game: game, Role: RolePlayer}, GuestTTL)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := nodes[(i+1)%len(nodes)].Verify(t.Context(), token); err != nil {
			t.Errorf("a node refuses its neighbour's token: %v", err)
		}
	}
	for _, gameName := range []string{"", game, otherGame} {
		if keys := store.keys[gameName]; len(keys) != 1 || keys[0].Alg != HS256 || len(keys[0].Secret) != 32 {
			t.Errorf("keys of %q: %d, want one of HS256 with 32 bytes", gameName, len(keys))
		}
	}
	if bytes.Equal(store.keys[game][0].Secret, store.keys[otherGame][0].Secret) {
		t.Error("two games share a secret")
	}
}

func TestOpenTokensRefusesInvalidKeys(t *testing.T) {
	t.Parallel()
	validKey := Key{ID: "k1", Alg: HS256, Secret: bytes.Repeat([]byte("s"), 32)}
	unreachable := newStore()
	unreachable.isDown = true
	tests := []struct {
		name       string
		store      *fakeStore
		configured map[string][]Key
		want       string
	}{
		{"a key twice", newStore(), map[string][]Key{game: {validKey, validKey}}, "twice"},
		{"a short key", newStore(), map[string][]Key{game: {{ID: "k1", Alg: HS256, Secret: []byte("short")}}}, "5 bytes"},
		{"an unreachable store", unreachable, nil, errStore.Error()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := OpenTokens(t.Context(), TokensConfig{
				Games: []string{game}, Configured: tt.configured, Keys: tt.store, Now: func() int64 { return start },
			})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("OpenTokens: %v, want %q", err, tt.want)
			}
		})
	}
}

func TestTheServersKeyCannotBeConfigured(t *testing.T) {
	t.Parallel()
	store := newStore()
	tokens := openTestTokens(t, store, map[string][]Key{"": {{ID: "mine", Alg: HS256, Secret: bytes.Repeat([]byte("m"), 32)}}})
	if _, configured := tokens.keys().find("", "mine"); configured || len(store.keys[""]) != 1 {
		t.Errorf("configured %v, %d generated", configured, len(store.keys[""]))
	}
}

// decodePEM returns the DER bytes of a PEM block.
func decodePEM(text []byte) []byte {
	block, _ := pem.Decode(text)
	return block.Bytes
}
