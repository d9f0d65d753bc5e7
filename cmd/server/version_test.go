package main

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"testing"

	"laststand/internal/cli"
	"laststand/internal/testenv"
)

func TestTheVersionIsTheNewestReleaseOfTheChangelog(t *testing.T) {
	t.Parallel()
	text := testenv.Need(os.ReadFile("../../CHANGELOG.md"))(t)
	newest := regexp.MustCompile(`(?m)^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d{2}-\d{2}$`).FindSubmatch(text)
	if newest == nil {
		t.Fatal(`CHANGELOG.md has no line like "## [0.1.0] - 2026-11-23"`)
	}
	if release := string(newest[1]); version != release {
		t.Errorf("version is %q, but the newest release in CHANGELOG.md is %q", version, release)
	}
}

func TestTheVersionCommandPrintsVersionAndRevision(t *testing.T) {
	t.Parallel()
	code, out, stderr := command("version")
	want := fmt.Sprintf("laststand %s (%s, revision %s)\n", version, runtime.Version(), currentRevision())
	if code != 0 || stderr != "" || out != want {
		t.Errorf("server version ended with %d, printed %q and %q; want %q", code, out, stderr, want)
	}
}

func TestRevisionMarksModifiedFiles(t *testing.T) {
	t.Parallel()
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "43556dc"}
	modified := func(value string) debug.BuildSetting { return debug.BuildSetting{Key: "vcs.modified", Value: value} }
	for want, settings := range map[string][]debug.BuildSetting{
		"unknown":          nil,
		"43556dc":          {commit, modified("false")},
		"43556dc-modified": {commit, modified("true")},
	} {
		if got := readRevision(&debug.BuildInfo{Settings: settings}); got != want {
			t.Errorf("revision %q, want %q", got, want)
		}
	}
}

func TestHealthAndMetricsShowTheVersion(t *testing.T) {
	t.Parallel()
	node := startNode(t, cli.Flags{Data: ptr(t.TempDir())})
	var health struct{ Status, Version string }
	if status := get(t, node.url+"/healthz", &health); status != http.StatusOK || health.Status != "ok" || health.Version != version {
		t.Errorf("/healthz answered %d, %+v; want version %q", status, health, version)
	}
	labels := []string{
		fmt.Sprintf("version=%q", version), fmt.Sprintf("go_version=%q", runtime.Version()), fmt.Sprintf("revision=%q", currentRevision()),
	}
	if value := sumMetric(t, node.opsURL, "laststand_build_info", labels...); value != 1 {
		t.Errorf("laststand_build_info with the labels %q is %d, want 1", labels, value)
	}
}
