package main

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	player "laststand/loadtest/players"

	"laststand/internal/cli"
)

// A node that stops stores its nicknames in its data folder. The next start reads only newer
// changes from the ledger.
func TestAStartReadsTheNameSnapshot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	node := startNode(t, cli.Flags{Data: &dir})
	if _, err := player.CreateGuest(t.Context(), node.url, "demo", ""); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "the view has the name", func() bool { return sumMetric(t, node.opsURL, "laststand_name_filter_names", `game="demo"`) == 1 })
	if got := sumMetric(t, node.opsURL, "laststand_name_filter_builds_total", `reason="start"`); got != 1 {
		t.Errorf("the first start built %d views", got)
	}
	node.stop()
	if _, err := os.Stat(filepath.Join(dir, "names", "demo.names")); err != nil {
		t.Fatal(err)
	}
	node = startNode(t, cli.Flags{Data: &dir})
	waitUntil(t, "the view serves", func() bool { return sumMetric(t, node.opsURL, "laststand_name_filter_names", `game="demo"`) == 1 })
	if loaded, built := sumMetric(t, node.opsURL, "laststand_name_filter_snapshots_total", `outcome="loaded"`), sumMetric(t, node.opsURL, "laststand_name_filter_builds_total"); loaded != 1 || built != 0 {
		t.Errorf("%d snapshots loaded, %d views built", loaded, built)
	}
	if got := get(t, node.url+"/v1/games/demo/nicknames/Nobody", nil); got != http.StatusOK {
		t.Errorf("status %d", got)
	}
	if got := sumMetric(t, node.opsURL, "laststand_name_filter_lookups_total", `answer="absent"`); got != 1 {
		t.Errorf("%d lookups were answered by the view alone, want 1", got)
	}
}
