package config

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/ledger"
	"laststand/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// configFile writes a configuration for a test.
func configFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "laststand.yaml")
	testenv.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestSinkKeysAreReadFromFiles(t *testing.T) {
	t.Parallel()
	path := configFile(t, testenv.ConfigWithKeys)
	testenv.WriteBeside(t, path, "hook.key", testenv.NewWebhookKey+"\r\n\n  "+testenv.OldWebhookKey+"\n")
	testenv.WriteBeside(t, path, "nppa.key", testenv.NPPAKey)
	c := testenv.Need(Read(path))(t)
	keys, err := OpenReceiverKeys(t.Context(), &c, nil, slog.New(slog.DiscardHandler))
	if err != nil || !slices.Equal(keys.Current(c.SinkKeys("hook")), []string{testenv.NewWebhookKey, testenv.OldWebhookKey}) || !slices.Equal(keys.Current(c.SinkKeys("nppa")), []string{testenv.NPPAKey}) {
		t.Errorf("%q, %q, %v", keys.Current(c.SinkKeys("hook")), keys.Current(c.SinkKeys("nppa")), err)
	}
}

// A changed file takes effect within 10 s. The server logs a faulty file once and keeps the
// earlier keys.
func TestChangedSinkKeysAreReloaded(t *testing.T) {
	t.Parallel()
	path := configFile(t, testenv.ConfigWithKeys)
	testenv.WriteBeside(t, path, "hook.key", testenv.OldWebhookKey)
	testenv.WriteBeside(t, path, "nppa.key", testenv.NPPAKey)
	c := testenv.Need(Read(path))(t)
	synctest.Test(t, func(t *testing.T) {
		log := new(strings.Builder)
		keys := testenv.Need(OpenReceiverKeys(t.Context(), &c, nil, slog.New(slog.NewTextHandler(log, nil))))(t)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = keys.Run(ctx) })
		for _, step := range []struct {
			text   string
			want   []string
			errors int
		}{
			{testenv.NewWebhookKey + "\n" + testenv.OldWebhookKey, []string{testenv.NewWebhookKey, testenv.OldWebhookKey}, 0},
			{testenv.NewWebhookKey, []string{testenv.NewWebhookKey}, 0},
			{"s3cret", []string{testenv.NewWebhookKey}, 1},
			{"s3cret again", []string{testenv.NewWebhookKey}, 1},
			{"", []string{testenv.NewWebhookKey}, 2},
			{testenv.NewWebhookKey, []string{testenv.NewWebhookKey}, 2},
			{"", []string{testenv.NewWebhookKey}, 3},
			{testenv.OldWebhookKey, []string{testenv.OldWebhookKey}, 3},
		} {
			testenv.WriteBeside(t, path, "hook.key", step.text)
			time.Sleep(2 * keyReloadInterval)
			synctest.Wait()
			if got := keys.Current(c.SinkKeys("hook")); !slices.Equal(got, step.want) || !slices.Equal(keys.Current(c.SinkKeys("nppa")), []string{testenv.NPPAKey}) {
				t.Errorf("%q: %q, %q", step.text, got, keys.Current(c.SinkKeys("nppa")))
			}
			if errorLines := strings.Count(log.String(), "level=ERROR"); errorLines != step.errors {
				t.Errorf("%q: %d errors are logged, want %d", step.text, errorLines, step.errors)
			}
		}
		cancel()
		running.Wait()
		if strings.Contains(log.String(), "s3cret") || strings.Contains(log.String(), testenv.WebhookKeyPrefix+"b") {
			t.Errorf("a key is logged: %s", log.String())
		}
	})
}

// The server generates a key for a webhook without a file. The key is the same at all nodes,
// and after a restart.
func TestWebhookKeysAreGenerated(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		c := readTestConfig(t, "games:\n  a: {behaviours: {sink: {type: webhook, url: 'https://x.example'}}}\n  b: {behaviours: {sink: {type: webhook, url: 'https://x.example'}}}\n  c:\n")
		keys := make([]*ReceiverKeys, 4)
		var nodes sync.WaitGroup
		for i := range keys {
			nodes.Go(func() { keys[i] = openKeys(t, c, db) })
		}
		nodes.Wait()
		if t.Failed() {
			t.FailNow()
		}
		source := c.SinkKeys
		a, b := keys[0].Current(source("a")), keys[0].Current(source("b"))
		if len(a) != 1 || len(b) != 1 || checkWebhookKey(a[0]) != nil || checkWebhookKey(b[0]) != nil || a[0] == b[0] || keys[0].Current(source("c")) != nil {
			t.Fatalf("%q, %q, %q", a, b, keys[0].Current(source("c")))
		}
		for _, other := range keys[1:] {
			if !slices.Equal(other.Current(source("a")), a) || !slices.Equal(other.Current(source("b")), b) {
				t.Errorf("%q and %q, another node has %q and %q", a, b, other.Current(source("a")), other.Current(source("b")))
			}
		}
	})
}

// openKeys opens the keys of sinks as a node does.
func openKeys(t *testing.T, c *Config, db testenv.SQL) *ReceiverKeys {
	store, err := ledger.Open(t.Context(), ledger.Config{URL: db.URL, Dir: db.Dir, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Error(err)
		return nil
	}
	defer store.Close()
	keys, err := OpenReceiverKeys(t.Context(), c, store.TokenKeys, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Error(err)
	}
	return keys
}
