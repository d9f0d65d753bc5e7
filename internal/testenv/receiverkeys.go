package testenv

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// WebhookKeyPrefix begins each key of a webhook.
const WebhookKeyPrefix = "whsec_"

// Keys of receivers of behaviours, as key files have them.
var (
	OldWebhookKey = WebhookKeyPrefix + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("o", 24)))
	NewWebhookKey = WebhookKeyPrefix + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("n", 64)))
)

// NPPAKey is a key of the receiver of the NPPA, as a key file has it.
const NPPAKey = "2836e95fcd10e04b0069bb1ee659955b"

// ConfigWithKeys is a configuration of games whose receivers have the key files hook.key and
// nppa.key.
const ConfigWithKeys = `games:
  hook: {behaviours: {sink: {type: webhook, url: "https://x.example", secret_file: hook.key}}}
  nppa: {behaviours: {sink: {type: nppa, app_id: A, biz_id: B, secret_file: nppa.key}}}
`

// WriteBeside writes a file into the folder of a configuration file.
func WriteBeside(t testing.TB, config, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(filepath.Dir(config), name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
