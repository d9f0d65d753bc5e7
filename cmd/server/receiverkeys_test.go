package main

import (
	"encoding/base64"
	"strings"
	"testing"

	"laststand/internal/cli"
	"laststand/internal/testenv"
	"laststand/internal/webhook"
)

// isWebhookKey reports whether a line is a key of a webhook.
func isWebhookKey(line string) bool {
	_, err := webhook.ParseKey(strings.TrimSuffix(line, "\n"))
	return err == nil
}

// The error lists all problems of key files together, and shows no key.
func TestInvalidSinkKeysAreReportedWithoutTheKeys(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ hook, nppa, wantHook, wantNPPA string }{
		"no keys":                    {"\n \n", "", "the file has no key", "the file has no key"},
		"keys of the other receiver": {testenv.NPPAKey, testenv.OldWebhookKey, "line 1: invalid webhook key", "line 1: the key is not a key of the NPPA"},
		"truncated keys":             {testenv.OldWebhookKey[:len(testenv.OldWebhookKey)-8], testenv.NPPAKey[:31], "line 1:", "line 1:"},
		"no Base64":                  {testenv.WebhookKeyPrefix + "s3cret!", testenv.NPPAKey[:31] + "g", "line 1:", "line 1:"},
		"too long":                   {testenv.WebhookKeyPrefix + base64.StdEncoding.EncodeToString(make([]byte, 65)), testenv.NPPAKey + "00", "65 bytes, not 24 to 64", "32 hexadecimal"},
		"one of two keys is invalid": {testenv.OldWebhookKey + "\nold s3cret", testenv.NPPAKey + "\n\ns3cret", "line 2:", "line 3:"},
		"both keys are invalid":      {"s3cret\ntwo", "two\ns3cret", "line 2:", "line 2:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := configFile(t, testenv.ConfigWithKeys)
			testenv.WriteBeside(t, path, "hook.key", tt.hook)
			testenv.WriteBeside(t, path, "nppa.key", tt.nppa)
			output := runFailingStart(t, "--data="+t.TempDir(), "--config="+path)
			checkContains(t, output, "games.hook.behaviours.sink.secret_file: ", tt.wantHook, "games.nppa.behaviours.sink.secret_file: ", tt.wantNPPA)
			if strings.Contains(output, "s3cret") || strings.Contains(output, testenv.OldWebhookKey[6:20]) || strings.Contains(output, testenv.NPPAKey[:20]) {
				t.Errorf("the message shows a key: %s", output)
			}
		})
	}
}

// After the key files of a running server were damaged, commands that need no key still work.
func TestCommandsWorkWithInvalidKeyFiles(t *testing.T) {
	t.Parallel()
	path := configFile(t, testenv.ConfigWithKeys+"  one: {keys: [{id: k1, alg: HS256, secret_file: one.key}]}\n")
	for name, key := range map[string]string{"hook.key": testenv.OldWebhookKey, "nppa.key": testenv.NPPAKey, "one.key": strings.Repeat("k", 32)} {
		testenv.WriteBeside(t, path, name, key)
	}
	dir := t.TempDir()
	node := startNode(t, cli.Flags{Config: path, Data: &dir})
	for _, name := range []string{"hook.key", "nppa.key", "one.key"} {
		testenv.WriteBeside(t, path, name, "short")
	}
	for line, want := range map[string]int{
		"tasks list": 0, "queue list": 0, "webhooks list": 0, "bank check builtin": 0, "token --role=admin --sub=ops": 0,
		"token --role=service --game=hook --sub=x": 0, "token --role=service --game=one --sub=x": 1, "config": 1,
	} {
		node.run(t, want, strings.Fields(line)...)
	}
}
