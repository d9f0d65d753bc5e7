package namefile

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	suffix     = ".names"
	unfinished = ".unfinished-" // part of the name of a file that is being written
	// abandonedAfter is the age at which Save removes an unfinished file.
	leftAfter = time.Hour
)

// Folder is a folder with one snapshot file per game. It implements identity.Snapshots. It
// is safe for concurrent use.
type Folder struct{ path string }

// New returns the folder with that path. The first Save creates it.
func New(path string) *Folder { return &Folder{path} }

// Open returns the snapshot of a game, fs.ErrNotExist if there is none.
func (f *Folder) Open(game string) (io.ReadCloser, error) { return os.Open(f.file(game)) }

// file returns the path of a game's file. It escapes characters that file names cannot
// have.
func (f *Folder) file(game string) string {
	return filepath.Join(f.path, url.PathEscape(game)+suffix)
}

// Save replaces the snapshot of a game by what write writes, once that is on disk. After an
// error the former snapshot stays. Save also removes unfinished files of processes that
// were killed.
func (f *Folder) Save(game string, write func(io.Writer) error) error {
	if err := os.MkdirAll(f.path, 0o700); err != nil {
		return fmt.Errorf("namefile: %w", err)
	}
	f.clear(time.Now().Add(-leftAfter))
	path := f.file(game)
	file, err := os.CreateTemp(f.path, filepath.Base(path)+unfinished+"*")
	if err != nil {
		return fmt.Errorf("namefile: %w", err)
	}
	err = write(file)
	if err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("namefile: %w", errors.Join(err, os.Remove(file.Name())))
	}
	return f.sync()
}

// sync writes the folder itself to disk.
func (f *Folder) sync() error {
	folder, err := os.Open(f.path)
	if err == nil {
		err = errors.Join(folder.Sync(), folder.Close())
	}
	if err != nil {
		return fmt.Errorf("namefile: %w", err)
	}
	return nil
}

// clear removes unfinished files that were last changed before a time. It ignores errors.
func (f *Folder) clear(than time.Time) {
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.Contains(e.Name(), suffix+unfinished) {
			continue
		}
		if info, err := e.Info(); err == nil && info.ModTime().Before(than) {
			_ = os.Remove(filepath.Join(f.path, e.Name()))
		}
	}
}
