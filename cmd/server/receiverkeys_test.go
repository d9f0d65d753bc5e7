package main

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"laststand/internal/cli"
	"laststand/internal/webhook"
)

var (
	webhookKeyPrefix = "whsec_"
	oldWebhookKey    = webhookKeyPrefix + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("o", 24)))
	newWebhookKey    = webhookKeyPrefix + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("n", 64)))
)

// isWebhookKey reports whether a line is a key of a webhook.
func isWebhookKey(line string) bool {
	_, err := webhook.ParseKey(strings.TrimSuffix(line, "\n"))
	return err == nil
}

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
	node := startNode(t, cli.Flags{Config: path, Data: &dir})
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
