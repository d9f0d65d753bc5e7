package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

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
	cmd := exec.Command("go", "list", "-m", "-json", "all")
	cmd.Dir, cmd.Stderr = r.root, os.Stderr
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the modules: %w", err)
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	folders := map[string]string{"std": strings.TrimSpace(string(goroot))}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var m struct{ Path, Dir string }
		if err := decoder.Decode(&m); errors.Is(err, io.EOF) {
			return folders, nil
		} else if err != nil {
			return nil, err
		}
		folders[m.Path] = m.Dir
	}
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
