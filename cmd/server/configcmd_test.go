package main

import (
	"os"
	"strings"
	"testing"

	"laststand/internal/testenv"
)

// `config` prints a valid file with the same settings and without secrets.
func TestConfigPrintsAValidFileWithoutSecrets(t *testing.T) {
	t.Parallel()
	sample := testenv.Need(os.ReadFile("testdata/contract.yaml"))(t)
	path := configFile(t, string(sample))
	testenv.WriteBeside(t, path, "demo.key", "k3y-bytes-k3y-bytes-k3y-bytes-k3y")
	testenv.WriteBeside(t, path, "hook.key", testenv.NewWebhookKey)
	code, printed, stderr := commandIn(t, []string{"LASTSTAND_REDIS=redis://u:s3cret@a:1,b:2", "LASTSTAND_DATABASE=postgres://u:s3cret@h/db"}, "config", "--config="+path)
	if code != 0 || strings.Contains(printed, "s3cret") || strings.Contains(printed, "k3y") || strings.Contains(printed, testenv.WebhookKeyPrefix) {
		t.Fatalf("ended with %d: %s\n%s", code, stderr, printed)
	}
	testenv.NoError(t, os.WriteFile(path, []byte(printed), 0o600))
	if _, reprinted, stderr := command("config", "--config="+path); reprinted != printed {
		t.Errorf("%s\nread and printed again is\n%s%s", printed, reprinted, stderr)
	}
}

// `config` prints the defaults of a sink too, and masks the parts of its address that may be secret.
func TestConfigPrintsDefaultsOfSinksWithoutSecrets(t *testing.T) {
	t.Parallel()
	path := configFile(t, "games:\n  plain:\n  hook: {behaviours: {sink: {type: webhook, url: 'https://u:s3cret@x.example/a?b=s3cret&token=s3cret'}}}\n")
	code, out, stderr := command("config", "--data=/srv/laststand", "--config="+path)
	if code != 0 || strings.Contains(out, "s3cret") {
		t.Fatalf("ended with %d: %s\n%s", code, stderr, out)
	}
	checkContains(t, out, "path: /srv/laststand/behaviours/plain.ndjson", "max_file_mib: 64", "max_files: 8", "report: []", "max_age: 170s", "per_second: 8",
		"url: https://u:xxxxx@x.example/a?b=xxxxx&token=xxxxx", "format: standard-webhooks", "report: [online, offline, match_start, match_end]", "count_same_address: true")
}
