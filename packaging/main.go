// Command packaging builds a release: archives, Debian and RPM packages, container images, a
// software bill of materials and checksums. The script release in the root folder starts it.
//
// The main function is run. Start reading there; each kind of artifact has a file. It is a module
// of its own, so that the server does not depend on the libraries of packages and images.
//
// The same commit gives the same bytes, in any folder and at any time: see source.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	var o options
	flag.StringVar(&o.root, "root", "..", "the folder of the sources")
	flag.StringVar(&o.dist, "out", "dist", "the folder for the artifacts, relative to -root; its content is replaced")
	flag.StringVar(&o.version, "version", "", "the version (default: of cmd/server/version.go, with the commit unless that version is tagged)")
	flag.StringVar(&o.targets, "targets", strings.Join(allTargets, ","), "the systems to build for")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "release: unexpected argument %q; see ./release -help\n", flag.Arg(0))
		os.Exit(2)
	}
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

type options struct{ root, dist, version, targets string }

// run builds all artifacts of a release into a new folder.
func run(o options) error {
	src, err := readSource(o.root, o.version)
	if err != nil {
		return err
	}
	r := release{source: src, dist: filepath.Join(src.root, o.dist), modules: map[string]module{}}
	if filepath.IsAbs(o.dist) {
		r.dist = o.dist
	}
	targets, err := parseTargets(o.targets)
	if err != nil {
		return err
	}
	if err := r.prepare(); err != nil {
		return err
	}
	defer os.RemoveAll(r.work)
	if err := r.compile(targets); err != nil {
		return err
	}
	if err := r.writeLicenses(); err != nil {
		return err
	}
	for _, t := range targets {
		if err := r.writeArtifacts(t); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	if err := r.writeSBOM(); err != nil {
		return err
	}
	return r.writeChecksums()
}

type release struct {
	source
	dist    string            // the folder of the artifacts
	work    string            // a temporary folder of binaries and texts
	modules map[string]module // of all binaries, by path
}

// prepare creates the folders. It deletes an earlier content of dist, but only if that is a release.
func (r *release) prepare() (err error) {
	entries, err := os.ReadDir(r.dist)
	if err == nil && len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(r.dist, checksumFile)); err != nil {
			return fmt.Errorf("the folder %s is not empty and has no %s; use another folder", r.dist, checksumFile)
		}
	}
	if err := os.RemoveAll(r.dist); err != nil {
		return err
	}
	if err := os.MkdirAll(r.dist, 0o755); err != nil {
		return err
	}
	r.work, err = os.MkdirTemp("", "laststand-release-")
	return err
}

func (r *release) writeArtifacts(t target) error {
	if err := r.writeArchive(t); err != nil {
		return err
	}
	if t.system != "linux" {
		return nil
	}
	if err := r.writePackages(t); err != nil {
		return err
	}
	return r.writeImage(t)
}
