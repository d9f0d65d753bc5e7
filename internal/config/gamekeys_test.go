package config

import (
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"laststand/internal/identity"
	"laststand/internal/ledger"
	"laststand/internal/testenv"
)

// Changed keys take effect while the server runs: keys that are added, reordered, removed or
// changed in their files. The server logs a fault once and keeps the earlier keys.
func TestChangedGameKeysAreReloaded(t *testing.T) {
	t.Parallel()
	const key1, key2 = "{id: k1, alg: HS256, secret_file: one.key}", "{id: k2, alg: HS256, secret_file: two.key}"
	configWithKeys := func(keys ...string) string { return "games: {demo: {keys: [" + strings.Join(keys, ", ") + "]}}\n" }
	path := configFile(t, configWithKeys(key1))
	testenv.WriteBeside(t, path, "one.key", strings.Repeat("1", 32))
	testenv.WriteBeside(t, path, "two.key", strings.Repeat("2", 32))
	c := testenv.Need(Read(path))(t)
	c.Data = t.TempDir()
	store := testenv.Need(ledger.Open(t.Context(), c.Ledger(slog.New(slog.DiscardHandler))))(t)
	defer store.Close()
	tokens := testenv.Need(c.OpenTokens(t.Context(), store.TokenKeys, c.GameNames(), nil))(t)
	log, changes := new(strings.Builder), 0
	keys, err := NewGameKeys(&c, tokens, slog.New(slog.NewTextHandler(log, nil)), func() { changes++ })
	if err != nil {
		t.Fatal(err)
	}
	mint := func() (token, key string) {
		t.Helper()
		token, _, err := tokens.Mint(identity.Claims{Subject: "p_1", Game: "demo", Role: identity.RolePlayer}, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		claims := testenv.Need(tokens.Verify(t.Context(), token))(t)
		return token, claims.KeyID
	}
	firstToken, _ := mint()
	for _, step := range []struct {
		name, config, key2Byte string
		signer                 string
		changes                int
		firstTokenIsValid      bool // the first token
	}{
		{"no change", configWithKeys(key1), "2", "k1", 0, true},
		{"a key added", configWithKeys(key1, key2), "2", "k1", 1, true},
		{"another order", configWithKeys(key2, key1), "2", "k2", 2, true},
		{"another secret", configWithKeys(key2, key1), "3", "k2", 3, true},
		{"a short secret", configWithKeys(key2, key1), "", "k2", 3, true},
		{"the same again", configWithKeys(key2, key1), "", "k2", 3, true},
		{"no YAML", "games: [", "3", "k2", 3, true},
		{"another game", "games: {other: {}}", "3", "k2", 3, true},
		{"all keys removed", "games: {demo: {}}", "3", "k2", 3, true},
		{"a key removed", configWithKeys(key2), "3", "k2", 4, false},
	} {
		testenv.NoError(t, os.WriteFile(path, []byte(step.config), 0o600))
		earlierToken, _ := mint()
		testenv.WriteBeside(t, path, "two.key", strings.Repeat("x", 32)) // as in a half-written file
		keys.reload(t.Context())
		if _, err := tokens.Verify(t.Context(), earlierToken); err != nil {
			t.Errorf("%s: with a half-written key file: %v", step.name, err)
		}
		testenv.WriteBeside(t, path, "two.key", strings.Repeat(step.key2Byte, 32))
		keys.reload(t.Context())
		keys.reload(t.Context())
		_, key := mint()
		_, err := tokens.Verify(t.Context(), firstToken)
		if key != step.signer || changes != step.changes || (err == nil) != step.firstTokenIsValid {
			t.Errorf("%s: %s signs, %d changes, the first token: %v; want %+v", step.name, key, changes, err, step)
		}
	}
	if errorLines := strings.Count(log.String(), "level=ERROR"); errorLines != 5 {
		t.Errorf("%d errors are logged, want 5:\n%s", errorLines, log.String())
	}
	for _, digit := range "123" {
		if strings.Contains(log.String(), strings.Repeat(string(digit), 32)) {
			t.Errorf("a key is logged: %s", log.String())
		}
	}
}

// The error names the configuration key, also if a key file vanishes while the server starts.
func TestUnreadableGameKeysAreNamedByTheirSetting(t *testing.T) {
	t.Parallel()
	c, err := Read(configFile(t, "games: {demo: {keys: [{id: k1, alg: HS256, secret_file: none.key}]}}"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewGameKeys(&c, nil, slog.New(slog.DiscardHandler), func() {}); err == nil || !strings.HasPrefix(err.Error(), `games.demo.keys: key "k1": its file cannot be read`) {
		t.Errorf("error %v", err)
	}
}
