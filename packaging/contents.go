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
	page, err := r.pageLibraries()
	if err != nil {
		return err
	}
	bom := cdx.NewBOM()
	server := component("laststand", r.version, "pkg:generic/laststand@"+r.version)
	server.Type = cdx.ComponentTypeApplication
	bom.Metadata = &cdx.Metadata{
		Timestamp: r.time.Format(time.RFC3339), Component: &server,
		Properties: &[]cdx.Property{{Name: "laststand:revision", Value: r.revision}},
	}
	components := page
	for _, path := range slices.Sorted(maps.Keys(r.modules)) {
		components = append(components, r.modules[path].component())
	}
	bom.Components = &components
	return r.writeFile("laststand_"+r.version+".cdx.json", func(w io.Writer) error {
		return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	})
}

func component(name, version, purl string) cdx.Component {
	return cdx.Component{BOMRef: purl, Type: cdx.ComponentTypeLibrary, Name: name, Version: version, PackageURL: purl}
}

// component describes a module. The checksum of go.sum, "h1:" and base64, is a SHA-256 of the files.
func (m module) component() cdx.Component {
	c := component(m.path, m.version, "pkg:golang/"+m.path+"@"+m.version)
	if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.sum, "h1:")); err == nil && len(sum) > 0 {
		c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}
	}
	return c
}

var vendoredName = regexp.MustCompile(`^(.+)-([0-9][0-9.]*)\.LICENSE\.txt$`)

// pageLibraries returns the npm packages that are in the repository with their licences.
func (r *release) pageLibraries() (libraries []cdx.Component, err error) {
	files, err := filepath.Glob(filepath.Join(r.root, "web/static/vendor/*.LICENSE.txt"))
	for _, file := range files {
		if found := vendoredName.FindStringSubmatch(filepath.Base(file)); found != nil {
			libraries = append(libraries, component(found[1], found[2], "pkg:npm/"+found[1]+"@"+found[2]))
		}
	}
	return libraries, err
}

// licenseFile has the licences of everything that the binaries contain. Most licences demand
// that a copy comes with the binary.
const licenseFile = "THIRD-PARTY.txt"

var licenseName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// writeLicenses collects the licences of all modules, of Go and of the page's libraries.
func (r *release) writeLicenses() error {
	folders, err := r.moduleFolders()
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, path := range slices.Sorted(maps.Keys(r.modules)) {
		m := r.modules[path]
		files, err := licenseFiles(folders[path])
		if err != nil {
			return fmt.Errorf("licence of %s: %w", path, err)
		}
		if err := appendFiles(&text, path+" "+m.version, files); err != nil {
			return err
		}
	}
	vendored, err := filepath.Glob(filepath.Join(r.root, "web/static/vendor/*.LICENSE.txt"))
	if err != nil {
		return err
	}
	for _, file := range vendored {
		if err := appendFiles(&text, strings.TrimSuffix(filepath.Base(file), ".LICENSE.txt"), []string{file}); err != nil {
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
