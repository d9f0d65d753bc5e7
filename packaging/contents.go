package main

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// writeSBOM lists what the binaries contain, in the format CycloneDX: the modules from the
// binaries themselves, and the libraries of the page.
func (r *release) writeSBOM() error {
	server := module{path: "laststand", version: r.version, ecosystem: "generic"}.component()
	server.Type = cdx.ComponentTypeApplication
	var components []cdx.Component
	for _, path := range slices.Sorted(maps.Keys(r.modules)) {
		components = append(components, r.modules[path].component())
	}
	bom := cdx.NewBOM()
	bom.Components = &components
	bom.Metadata = &cdx.Metadata{
		Timestamp: r.time.Format(time.RFC3339), Component: &server,
		Properties: &[]cdx.Property{{Name: "laststand:revision", Value: r.revision}},
	}
	return r.writeFile("laststand_"+r.version+".cdx.json", func(w io.Writer) error {
		return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	})
}

// component describes a module. The checksum of go.sum, "h1:" and base64, is a SHA-256 of the files.
func (m module) component() cdx.Component {
	purl := "pkg:" + m.ecosystem + "/" + m.path + "@" + m.version
	c := cdx.Component{BOMRef: purl, Type: cdx.ComponentTypeLibrary, Name: m.path, Version: m.version, PackageURL: purl}
	if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.sum, "h1:")); err == nil && len(sum) > 0 {
		c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}
	}
	return c
}

// licenseFile has the licences of everything that the binaries contain. Most licences demand
// that a copy comes with the binary.
const licenseFile = "THIRD-PARTY.txt"

var (
	licenseName  = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)
	vendoredName = regexp.MustCompile(`([^/]+)-([0-9][0-9.]*)\.LICENSE\.txt$`)
)

// writeLicenses collects the licences of all modules and of Go. It adds the npm packages of the page,
// which are in the repository with their licences, to the modules.
func (r *release) writeLicenses() error {
	vendored, err := filepath.Glob(filepath.Join(r.root, "web/static/vendor/*.LICENSE.txt"))
	if err != nil {
		return err
	}
	folders, err := r.moduleFolders()
	if err != nil {
		return err
	}
	licenses := map[string][]string{}
	for path := range r.modules {
		if licenses[path], err = licenseFiles(folders[path]); err != nil {
			return fmt.Errorf("licence of %s: %w", path, err)
		}
	}
	for _, file := range vendored {
		found := vendoredName.FindStringSubmatch(file)
		if found == nil {
			return fmt.Errorf("the name of %s is not NAME-VERSION.LICENSE.txt", file)
		}
		r.modules[found[1]] = module{path: found[1], version: found[2], ecosystem: "npm"}
		licenses[found[1]] = []string{file}
	}
	var text strings.Builder
	for _, path := range slices.Sorted(maps.Keys(licenses)) {
		if err := appendFiles(&text, path+" "+r.modules[path].version, licenses[path]); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(r.work, licenseFile), []byte(text.String()), 0o644)
}

// moduleFolders returns the folders of all modules of the server, by path.
func (r *release) moduleFolders() (map[string]string, error) {
	goroot, err := r.goCommand("env", "GOROOT")
	if err != nil {
		return nil, err
	}
	modules, err := r.goCommand("list", "-m", "-f", "{{.Path}}\t{{.Dir}}", "all")
	if err != nil {
		return nil, fmt.Errorf("list the modules: %w", err)
	}
	folders := map[string]string{"std": strings.TrimSpace(goroot)}
	for line := range strings.SplitSeq(modules, "\n") {
		path, folder, _ := strings.Cut(line, "\t")
		folders[path] = folder
	}
	return folders, nil
}

func (r *release) goCommand(args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stderr = r.root, os.Stderr
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	out, err := cmd.Output()
	return string(out), err
}

func licenseFiles(folder string) (files []string, err error) {
	entries, err := os.ReadDir(folder)
	for _, entry := range entries {
		if licenseName.MatchString(entry.Name()) && !entry.IsDir() {
			files = append(files, filepath.Join(folder, entry.Name()))
		}
	}
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("the folder %s has no licence file", folder)
	}
	return files, err
}

func appendFiles(text *strings.Builder, title string, files []string) error {
	fmt.Fprintf(text, "%s\n%s\n\n", title, strings.Repeat("=", len(title)))
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		text.WriteString(strings.TrimSpace(strings.ReplaceAll(string(content), "\r\n", "\n")) + "\n\n")
	}
	return nil
}
