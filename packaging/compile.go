package main

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// allTargets are the systems that the server builds for. It does not build for Windows: parked
// websockets use file descriptors, and the behaviour file uses flock.
var allTargets = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}

// A target is an operating system and a processor, as Go names them.
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

// binary returns the path of the server for a target.
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
			r.modules[m.Path] = module{path: m.Path, version: m.Version, sum: m.Sum}
		}
		r.modules["std"] = module{path: "std", version: strings.TrimPrefix(info.GoVersion, "go")}
	}
	return nil
}

// A module is a Go module that a binary contains. The standard library is the module std.
type module struct{ path, version, sum string }
