package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The time and the commit of the releases that the tests build.
const (
	testEpoch    = "1790000000"
	testRevision = "0123456789abcdef0123456789abcdef01234567"
)

// copySources copies the files of the repository to a new folder and gives them a new time.
func copySources(t *testing.T, folder string) (root string) {
	t.Helper()
	root = filepath.Join(t.TempDir(), folder)
	list, err := git("..", "ls-files", "-z", "--cached", "--others", "--exclude-standard", ":/")
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(list, "\x00"), "\x00") {
		name = strings.TrimPrefix(name, "../")
		content, err := os.ReadFile(filepath.Join("..", name))
		if os.IsNotExist(err) { // deleted, but not committed
			continue
		}
		path := filepath.Join(root, name)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o700)
		}
		if err == nil {
			err = os.WriteFile(path, content, 0o600)
		}
		if err == nil {
			err = os.Chtimes(path, time.Now(), time.Unix(int64(len(folder)), 0))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// buildRelease builds a release for this system, and returns its folder.
func buildRelease(t *testing.T, root, version string) (dist string) {
	t.Helper()
	if err := run(options{root: root, dist: "dist", version: version, targets: "linux/amd64"}); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "dist")
}

func readText(t *testing.T, path ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// Two builds in different folders have the same bytes.
func TestAReleaseIsReproducibleAndItsPackageWorks(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", testEpoch)
	t.Setenv("SOURCE_REVISION", testRevision)
	first, second := copySources(t, "a"), copySources(t, "another/folder")
	dist := buildRelease(t, first, "0.1.0")
	sums := readText(t, dist, checksumFile)
	if other := readText(t, buildRelease(t, second, "0.1.0"), checksumFile); other != sums {
		t.Errorf("the same sources have the checksums\n%s\nand in another folder\n%s", sums, other)
	}
	if out, err := command(dist, "sha256sum", "--check", "--strict", checksumFile); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	t.Run("archive", func(t *testing.T) { checkArchive(t, dist) })
	t.Run("SBOM", func(t *testing.T) { checkSBOM(t, dist) })
	t.Run("image", func(t *testing.T) { checkImage(t, dist) })

	// The next version, with another configuration file.
	config := filepath.Join(second, "packaging/files/laststand.yaml")
	if err := os.WriteFile(config, []byte(readText(t, config)+"\n# A new key of the next version.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	newDist := buildRelease(t, second, "0.1.1")
	t.Run("deb", func(t *testing.T) { checkDebianPackage(t, dist, newDist) })
}

// command runs a program in a folder and returns its output.
func command(folder, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// checkArchive unpacks the archive and runs the server in it.
func checkArchive(t *testing.T, dist string) {
	folder := t.TempDir()
	if out, err := command(folder, "tar", "-xzf", filepath.Join(dist, "laststand_0.1.0_linux_amd64.tar.gz")); err != nil {
		t.Fatal(out)
	}
	folder = filepath.Join(folder, "laststand_0.1.0_linux_amd64")
	out, err := command(folder, "./server", "version")
	if err != nil || !strings.HasPrefix(out, "laststand 0.1.0 (go") || !strings.Contains(out, "revision "+testRevision) {
		t.Errorf("%s, %v", out, err)
	}
	if info, err := os.Stat(filepath.Join(folder, "LICENSE")); err != nil || info.ModTime().Unix() != 1790000000 || info.Mode() != 0o644 {
		t.Errorf("the time of a file is not the time of the commit: %v, %v", info, err)
	}
	licenses := readText(t, folder, licenseFile)
	for _, path := range []string{"std", "modernc.org/sqlite", "github.com/redis/go-redis/v9", "preact 1"} {
		if !strings.Contains(licenses, "\n"+path) {
			t.Errorf("%s has no licence of %s", licenseFile, path)
		}
	}
}

// checkSBOM compares the SBOM with the modules of the main module.
func checkSBOM(t *testing.T, dist string) {
	var bom struct {
		BOMFormat  string
		Metadata   struct{ Timestamp string }
		Components []struct {
			Name, PURL string
			Hashes     []struct{ Content string }
		}
	}
	if err := json.Unmarshal([]byte(readText(t, dist, "laststand_0.1.0.cdx.json")), &bom); err != nil {
		t.Fatal(err)
	}
	hashes := map[string]int{}
	for _, c := range bom.Components {
		hashes[c.Name] = len(c.Hashes)
	}
	if bom.BOMFormat != "CycloneDX" || bom.Metadata.Timestamp != "2026-09-21T14:13:20Z" {
		t.Errorf("%+v", bom.Metadata)
	}
	for name, want := range map[string]int{"modernc.org/sqlite": 1, "github.com/alecthomas/kong": 1, "std": 0, "preact": 0, "htm": 0} {
		if got, listed := hashes[name]; !listed || got != want {
			t.Errorf("%s: listed %t, %d hashes", name, listed, got)
		}
	}
	if _, listed := hashes["github.com/chromedp/chromedp"]; listed {
		t.Error("the SBOM lists a library that only tests use")
	}
}

// An output folder with other files is never deleted.
func TestAReleaseKeepsOtherFiles(t *testing.T) {
	t.Parallel()
	dist := t.TempDir()
	if err := os.WriteFile(filepath.Join(dist, "thesis.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := release{dist: dist}
	if err := r.prepare(); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("prepare returned %v", err)
	}
	if entries, err := fs.ReadDir(os.DirFS(dist), "."); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestUnknownTargetsAreRefused(t *testing.T) {
	t.Parallel()
	if _, err := parseTargets("linux/amd64,windows/amd64"); err == nil || !strings.Contains(err.Error(), "does not build for") {
		t.Errorf("%v", err)
	}
}
