package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A source is the commit that a release is built from.
type source struct {
	root     string    // the folder of the sources, absolute
	version  string    // such as 0.1.0, or 0.1.0+git20261123.26ff1aa for a commit without a tag
	revision string    // the commit, with -modified if files differ from it
	time     time.Time // of the commit: the time of every file in every artifact
}

var versionLine = regexp.MustCompile(`(?m)^var version = "([0-9]+\.[0-9]+\.[0-9]+)"$`)

// readSource reads the commit of a checkout. Outside a checkout the environment variables
// SOURCE_DATE_EPOCH and SOURCE_REVISION replace it. version "" means the version of the sources.
func readSource(root, version string) (s source, err error) {
	if s.root, err = filepath.Abs(root); err != nil {
		return s, err
	}
	if s.revision, s.time, err = readCommit(s.root); err != nil {
		return s, err
	}
	if s.version = version; version != "" {
		return s, nil
	}
	text, err := os.ReadFile(filepath.Join(s.root, "cmd/server/version.go"))
	if err != nil {
		return s, err
	}
	found := versionLine.FindSubmatch(text)
	if found == nil {
		return s, fmt.Errorf("cmd/server/version.go has no line of the form %s", versionLine)
	}
	s.version = string(found[1])
	if tag, err := git(s.root, "describe", "--tags", "--exact-match", "HEAD"); err != nil || tag != "v"+s.version {
		s.version += "+git" + s.time.Format("20060102150405") + "." + s.revision[:min(7, len(s.revision))]
	}
	return s, nil
}

func readCommit(root string) (revision string, at time.Time, err error) {
	epoch := os.Getenv("SOURCE_DATE_EPOCH")
	if revision = os.Getenv("SOURCE_REVISION"); epoch == "" || revision == "" {
		commit, err := git(root, "log", "-1", "--format=%H %ct")
		if err != nil {
			return "", at, fmt.Errorf("this folder is no git checkout; set SOURCE_DATE_EPOCH and SOURCE_REVISION: %w", err)
		}
		revision, epoch, _ = strings.Cut(commit, " ")
		if changes, err := git(root, "status", "--porcelain"); err != nil || changes != "" {
			revision += "-modified"
		}
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return "", at, fmt.Errorf("SOURCE_DATE_EPOCH is %q, not a number of seconds", epoch)
	}
	return revision, time.Unix(seconds, 0).UTC(), nil
}

func git(root string, args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"-C", root}, args...)...).Output()
	return strings.TrimSpace(string(out)), err
}
