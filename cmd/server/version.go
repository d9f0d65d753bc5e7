package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is the newest release in CHANGELOG.md. A release build can set another
// one: go build -ldflags '-X main.version=0.1.1' ./cmd/server.
var version = "0.1.0"

// revision is the commit that ./release builds from. Go itself records no commit in a reproducible
// build.
var revision string

// currentRevision returns the commit that the program was built from, with "-modified" if the files
// differed from it; "unknown" outside a checkout.
func currentRevision() string {
	if info, ok := debug.ReadBuildInfo(); ok && revision == "" {
		return readRevision(info)
	}
	return cmp.Or(revision, "unknown")
}

func readRevision(info *debug.BuildInfo) string {
	revision, suffix := "unknown", ""
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision":
			revision = setting.Value
		case setting.Key == "vcs.modified" && setting.Value == "true":
			suffix = "-modified"
		}
	}
	return revision + suffix
}

func buildLine() string {
	return fmt.Sprintf("laststand %s (%s, revision %s)", version, runtime.Version(), currentRevision())
}
