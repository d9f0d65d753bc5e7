package main

import (
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

// build describes the source and the Go version that the program was built from.
type build struct {
	version   string
	goVersion string
	revision  string // the commit, with "-modified" if the files differed from it; "unknown" outside a checkout
}

func currentBuild() build {
	buildInfo, ok := debug.ReadBuildInfo()
	if !ok {
		buildInfo = new(debug.BuildInfo)
	}
	return build{version: version, goVersion: runtime.Version(), revision: readRevision(buildInfo)}
}

func readRevision(info *debug.BuildInfo) string {
	if revision != "" {
		return revision
	}
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

// line describes the build for `server version`.
func (b build) line() string {
	return fmt.Sprintf("laststand %s (%s, revision %s)", b.version, b.goVersion, b.revision)
}
