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
	fileSuffix     = ".names"
	unfinishedMark = ".unfinished-" // part of the name of a file that is being written
	// abandonedAfter is the age at which Save removes an unfinished file.
	abandonedAfter = time.Hour
)

// Folder is a folder with one snapshot file per game. It implements identity.Snapshots. It
// is safe for concurrent use.
type Folder struct{ path string }

// New returns the folder with that path. The first Save creates it.
func New(path string) *Folder { return &Folder{path} }

// Open returns the snapshot of a game, fs.ErrNotExist if there is none.
func (f *Folder) Open(game string) (io.ReadCloser, error) { return os.Open(f.filePath(game)) }

// filePath returns the path of a game's file. It escapes characters that file names cannot
// have.
func (f *Folder) filePath(game string) string {
	return filepath.Join(f.path, url.PathEscape(game)+fileSuffix)
}

// Save replaces the snapshot of a game by what write writes, once that is on disk. After an
// error the former snapshot stays. Save also removes unfinished files of processes that
// were killed.
func (f *Folder) Save(game string, write func(io.Writer) error) error {
	if err := os.MkdirAll(f.path, 0o700); err != nil {
		return fmt.Errorf("namefile: %w", err)
	}
	f.removeAbandoned(time.Now().Add(-abandonedAfter))
	path := f.filePath(game)
	file, err := os.CreateTemp(f.path, filepath.Base(path)+unfinishedMark+"*")
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
	return f.syncFolder()
}

// syncFolder writes the folder itself to disk.
func (f *Folder) syncFolder() error {
	folder, err := os.Open(f.path)
	if err == nil {
		err = errors.Join(folder.Sync(), folder.Close())
	}
	if err != nil {
		return fmt.Errorf("namefile: %w", err)
	}
	return nil
}

// removeAbandoned removes unfinished files that were last changed before a time. It ignores errors.
func (f *Folder) removeAbandoned(before time.Time) {
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if !strings.Contains(entry.Name(), fileSuffix+unfinishedMark) {
			continue
		}
		if info, err := entry.Info(); err == nil && info.ModTime().Before(before) {
			_ = os.Remove(filepath.Join(f.path, entry.Name()))
		}
	}
}
