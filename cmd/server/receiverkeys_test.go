package main

import (
	"context"
	"encoding/base64"
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

var (
	webhookKeyPrefix = "whsec_"
	oldWebhookKey    = webhookKeyPrefix + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("o", 24)))
	newWebhookKey    = webhookKeyPrefix + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("n", 64)))
)

const nppaKey = "2836e95fcd10e04b0069bb1ee659955b"

// writeBeside writes a file into the folder of a configuration file.
func writeBeside(t *testing.T, config, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(filepath.Dir(config), name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const configWithKeys = `games:
  hook: {behaviours: {sink: {type: webhook, url: "https://x.example", secret_file: hook.key}}}
  nppa: {behaviours: {sink: {type: nppa, app_id: A, biz_id: B, secret_file: nppa.key}}}
`

func TestSinkKeysAreReadFromFiles(t *testing.T) {
	t.Parallel()
	path := configFile(t, configWithKeys)
	writeBeside(t, path, "hook.key", newWebhookKey+"\r\n\n  "+oldWebhookKey+"\n")
	writeBeside(t, path, "nppa.key", nppaKey)
	c, err := (&cli{Config: path}).load()
	if err != nil {
		t.Fatal(err)
	}
	keys, err := openReceiverKeys(t.Context(), &c, nil, discardLog())
	if err != nil || !slices.Equal(keys.currentKeys(c.sinkKeySource("hook")), []string{newWebhookKey, oldWebhookKey}) || !slices.Equal(keys.currentKeys(c.sinkKeySource("nppa")), []string{nppaKey}) {
		t.Errorf("%q, %q, %v", keys.currentKeys(c.sinkKeySource("hook")), keys.currentKeys(c.sinkKeySource("nppa")), err)
	}
}

// The error lists all problems of key files together, and shows no key.
func TestInvalidSinkKeysAreReportedWithoutTheKeys(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ hook, nppa, wantHook, wantNPPA string }{
		"no keys":                    {"\n \n", "", "the file has no key", "the file has no key"},
		"keys of the other receiver": {nppaKey, oldWebhookKey, "line 1: invalid webhook key", "line 1: the key is not a key of the NPPA"},
		"truncated keys":             {oldWebhookKey[:len(oldWebhookKey)-8], nppaKey[:31], "line 1:", "line 1:"},
		"no Base64":                  {webhookKeyPrefix + "s3cret!", nppaKey[:31] + "g", "line 1:", "line 1:"},
		"too long":                   {webhookKeyPrefix + base64.StdEncoding.EncodeToString(make([]byte, 65)), nppaKey + "00", "65 bytes, not 24 to 64", "32 hexadecimal"},
		"one of two keys is invalid": {oldWebhookKey + "\nold s3cret", nppaKey + "\n\ns3cret", "line 2:", "line 3:"},
		"both keys are invalid":      {"s3cret\ntwo", "two\ns3cret", "line 2:", "line 2:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := configFile(t, configWithKeys)
			writeBeside(t, path, "hook.key", tt.hook)
			writeBeside(t, path, "nppa.key", tt.nppa)
			output := runFailingStart(t, "--data="+t.TempDir(), "--config="+path)
			checkContains(t, output, "games.hook.behaviours.sink.secret_file: ", tt.wantHook, "games.nppa.behaviours.sink.secret_file: ", tt.wantNPPA)
			if strings.Contains(output, "s3cret") || strings.Contains(output, oldWebhookKey[6:20]) || strings.Contains(output, nppaKey[:20]) {
				t.Errorf("the message shows a key: %s", output)
			}
		})
	}
}

// After the key files of a running server were damaged, commands that need no key still work.
func TestCommandsWorkWithInvalidKeyFiles(t *testing.T) {
	t.Parallel()
	path := configFile(t, configWithKeys+"  one: {keys: [{id: k1, alg: HS256, secret_file: one.key}]}\n")
	for name, key := range map[string]string{"hook.key": oldWebhookKey, "nppa.key": nppaKey, "one.key": strings.Repeat("k", 32)} {
		writeBeside(t, path, name, key)
	}
	dir := t.TempDir()
	node := startNode(t, cli{Config: path, Data: &dir})
	for _, name := range []string{"hook.key", "nppa.key", "one.key"} {
		writeBeside(t, path, name, "short")
	}
	for line, want := range map[string]int{
		"tasks list": 0, "queue list": 0, "webhooks list": 0, "bank check builtin": 0, "token --role=admin --sub=ops": 0,
		"token --role=service --game=hook --sub=x": 0, "token --role=service --game=one --sub=x": 1, "config": 1,
	} {
		words := append(strings.Fields(line), "--config="+path, "--data="+dir, "--ops-listen="+strings.TrimPrefix(node.opsURL, "http://"))
		if code, _, stderr := command(words...); code != want {
			t.Errorf("%s ended with %d, want %d: %s", line, code, want, stderr)
		}
	}
}

// A changed file takes effect within 10 s. The server logs a faulty file once and keeps the
// earlier keys.
func TestChangedSinkKeysAreReloaded(t *testing.T) {
	t.Parallel()
	path := configFile(t, configWithKeys)
	writeBeside(t, path, "hook.key", oldWebhookKey)
	writeBeside(t, path, "nppa.key", nppaKey)
	c, err := readConfig(path)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		log := new(logBuffer)
		keys, err := openReceiverKeys(t.Context(), &c, nil, slog.New(slog.NewTextHandler(log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = keys.Run(ctx) })
		for _, step := range []struct {
			text   string
			want   []string
			errors int
		}{
			{newWebhookKey + "\n" + oldWebhookKey, []string{newWebhookKey, oldWebhookKey}, 0},
			{newWebhookKey, []string{newWebhookKey}, 0},
			{"s3cret", []string{newWebhookKey}, 1},
			{"s3cret again", []string{newWebhookKey}, 1},
			{"", []string{newWebhookKey}, 2},
			{newWebhookKey, []string{newWebhookKey}, 2},
			{"", []string{newWebhookKey}, 3},
			{oldWebhookKey, []string{oldWebhookKey}, 3},
		} {
			writeBeside(t, path, "hook.key", step.text)
			time.Sleep(receiverKeysInterval)
			synctest.Wait()
			if got := keys.currentKeys(c.sinkKeySource("hook")); !slices.Equal(got, step.want) || !slices.Equal(keys.currentKeys(c.sinkKeySource("nppa")), []string{nppaKey}) {
				t.Errorf("%q: %q, %q", step.text, got, keys.currentKeys(c.sinkKeySource("nppa")))
			}
			if errorLines := strings.Count(log.String(), "level=ERROR"); errorLines != step.errors {
				t.Errorf("%q: %d errors are logged, want %d", step.text, errorLines, step.errors)
			}
		}
		cancel()
		running.Wait()
		if strings.Contains(log.String(), "s3cret") || strings.Contains(log.String(), webhookKeyPrefix+"b") {
			t.Errorf("a key is logged: %s", log)
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
		keys := make([]*receiverKeys, 4)
		var nodes sync.WaitGroup
		for i := range keys {
			nodes.Go(func() { keys[i] = openKeys(t, c, db) })
		}
		nodes.Wait()
		if t.Failed() {
			t.FailNow()
		}
		source := c.sinkKeySource
		a, b := keys[0].currentKeys(source("a")), keys[0].currentKeys(source("b"))
		if len(a) != 1 || len(b) != 1 || checkWebhookKey(a[0]) != nil || checkWebhookKey(b[0]) != nil || a[0] == b[0] || keys[0].currentKeys(source("c")) != nil {
			t.Fatalf("%q, %q, %q", a, b, keys[0].currentKeys(source("c")))
		}
		for _, other := range keys[1:] {
			if !slices.Equal(other.currentKeys(source("a")), a) || !slices.Equal(other.currentKeys(source("b")), b) {
				t.Errorf("%q and %q, another node has %q and %q", a, b, other.currentKeys(source("a")), other.currentKeys(source("b")))
			}
		}
		keys[0].reload(keys[0].watched[source("a").setting])
		if !slices.Equal(keys[0].currentKeys(source("a")), a) {
			t.Errorf("after a reload: %q", keys[0].currentKeys(source("a")))
		}
	})
}

// openKeys opens the keys of sinks as a node does.
func openKeys(t *testing.T, c *config, db testenv.SQL) *receiverKeys {
	store, err := ledger.Open(t.Context(), ledger.Config{URL: db.URL, Dir: db.Dir, Logger: discardLog()})
	if err != nil {
		t.Error(err)
		return nil
	}
	defer store.Close()
	keys, err := openReceiverKeys(t.Context(), c, store, discardLog())
	if err != nil {
		t.Error(err)
	}
	return keys
}
