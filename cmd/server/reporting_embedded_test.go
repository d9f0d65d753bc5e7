package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"laststand/internal/testenv"
	player "laststand/loadtest/players"
)

// The queues of an embedded Redis end with the server. Before that, the server sends the queued
// behaviours, including the last offline. It logs the number of behaviours that it cannot send.
func TestAnEmbeddedServerSendsBehavioursBeforeItStops(t *testing.T) {
	t.Parallel()
	db := testenv.Database(t)
	file := filepath.Join(t.TempDir(), "reports.ndjson")
	const slowBatches = "batch: {flush_interval: 1m}"
	config := configFile(t, fmt.Sprintf(`games:
  demo: {%s, behaviours: {%s, report: [online, offline], sink: {type: file, path: %q}}}
  deaf: {%s, behaviours: {%s, sink: {type: webhook, url: "http://127.0.0.1:1", allow_private: true}}}
`, testenv.KeysYAML, slowBatches, file, testenv.KeysYAML, slowBatches))
	testenv.WriteKey(t, config)
	server := startProcess(t, "--config="+config, "--data="+db.Dir, "--database="+db.URL)
	guest := testenv.Need(player.CreateGuest(t.Context(), server.url, "demo", ""))(t)
	connect(t, server.url, guest)
	reporting := &reportingTest{t: t, posted: map[string][]string{}, games: []string{"deaf", "demo"}, testCluster: testCluster{config: config, db: db}}
	reporting.post("demo", 300, server.url)
	reporting.post("deaf", 3, server.url)
	server.signal(syscall.SIGTERM)
	if code := server.wait(t); code != 0 {
		t.Errorf("the server ended with %d\n%s", code, server.log)
	}
	text := testenv.Need(os.ReadFile(file))(t)
	if lines := bytes.Count(text, []byte("\n")); lines != 302 || !bytes.Contains(text, []byte(`"offline"`)) {
		t.Errorf("%d lines, want 300 posted behaviours, an online and an offline", lines)
	}
	if logged := server.log.String(); !bytes.Contains([]byte(logged), []byte("behaviours lost")) || !bytes.Contains([]byte(logged), []byte("game=deaf behaviours=3")) {
		t.Errorf("the lost behaviours are not logged:\n%s", logged)
	}
}
