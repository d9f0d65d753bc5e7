package main

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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

// allTargets are the systems that the server builds for. It does not build for Windows: parked
// websockets use file descriptors, and the behaviour file uses flock.
var allTargets = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}

type target struct{ system, arch string }

func (t target) String() string { return t.system + "/" + t.arch }

func parseTargets(list string) (targets []target, err error) {
	for name := range strings.SplitSeq(list, ",") {
		if !slices.Contains(allTargets, name) {
			return nil, fmt.Errorf("the server does not build for %q; use some of %s", name, strings.Join(allTargets, ", "))
		}
		system, arch, _ := strings.Cut(name, "/")
		targets = append(targets, target{system, arch})
	}
	return targets, nil
}

func (r *release) binary(t target) string {
	return filepath.Join(r.work, t.system+"_"+t.arch, "server")
}

// compile builds the server for each target, one after another: the compiler uses all processors.
func (r *release) compile(targets []target) error {
	for _, t := range targets {
		fmt.Println("building", t)
		cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags",
			"-s -w -buildid= -X main.version="+r.version+" -X main.revision="+r.revision, "-o", r.binary(t), "./cmd/server")
		cmd.Dir = r.root
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOOS="+t.system, "GOARCH="+t.arch)
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("build for %s: %w", t, err)
		}
		info, err := buildinfo.ReadFile(r.binary(t))
		if err != nil {
			return err
		}
		for _, m := range info.Deps {
			r.modules[m.Path] = module{m.Path, m.Version, m.Sum, "golang"}
		}
		r.modules["std"] = module{"std", strings.TrimPrefix(info.GoVersion, "go"), "", "golang"}
	}
	return nil
}

// A module is a Go module or an npm package that a binary contains. The standard library is the
// module std. The ecosystem is the type of its package URL: golang or npm.
type module struct{ path, version, sum, ecosystem string }
