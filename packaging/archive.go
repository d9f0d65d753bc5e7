package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

func (r *release) writeArchive(t target) error {
	name := fmt.Sprintf("laststand_%s_%s_%s", r.version, t.system, t.arch)
	files := []tarFile{{path: name + "/server", source: r.binary(t), mode: 0o755}}
	for _, text := range []string{"CHANGELOG.md", "LICENSE", "README.md"} {
		files = append(files, tarFile{path: name + "/" + text, source: filepath.Join(r.root, text), mode: 0o644})
	}
	files = append(files, tarFile{path: name + "/" + licenseFile, source: filepath.Join(r.work, licenseFile), mode: 0o644})
	return r.writeFile(name+".tar.gz", func(w io.Writer) error {
		packed := gzip.NewWriter(w)
		return errors.Join(writeTar(packed, r.time, files), packed.Close())
	})
}

func (r *release) writeFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(filepath.Join(r.dist, name))
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// A tarFile is an entry of a tar: the file at source, or content if source is "". Its path ends in
// a slash if it is a folder.
type tarFile struct {
	path, source string
	content      []byte
	mode         int64
	owner        int // user and group
}

// writeTar writes files in the given order, with the same bytes on every machine.
func writeTar(w io.Writer, at time.Time, files []tarFile) error {
	out := tar.NewWriter(w)
	for _, f := range files {
		if f.source != "" {
			content, err := os.ReadFile(f.source)
			if err != nil {
				return err
			}
			f.content = content
		}
		header := &tar.Header{Name: f.path, Mode: f.mode, Size: int64(len(f.content)), ModTime: at, Uid: f.owner, Gid: f.owner, Format: tar.FormatPAX}
		if err := out.WriteHeader(header); err != nil {
			return err
		}
		if _, err := out.Write(f.content); err != nil {
			return err
		}
	}
	return out.Close()
}

// checksumFile has the SHA-256 of every artifact, for `sha256sum --check`.
const checksumFile = "SHA256SUMS"

func (r *release) writeChecksums() error {
	entries, err := os.ReadDir(r.dist) // sorted
	if err != nil {
		return err
	}
	return r.writeFile(checksumFile, func(w io.Writer) error {
		for _, entry := range entries {
			content, err := os.ReadFile(filepath.Join(r.dist, entry.Name()))
			if err != nil {
				return err
			}
			line := fmt.Sprintf("%x  %s\n", sha256.Sum256(content), entry.Name())
			fmt.Print(line)
			if _, err := io.WriteString(w, line); err != nil {
				return err
			}
		}
		return nil
	})
}
