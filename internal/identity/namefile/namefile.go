// Package namefile keeps snapshots of the views of nicknames as files of a
// folder, one for each game.
//
// Several processes may share the folder: a file is written beside and moved
// into place whole, the last one stays, and whoever reads it judges whether it
// is of its own ledger.
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
	unfinished = ".unfinished-" // before what makes a file that is being written its own
	// leftAfter is how old an unfinished file is that nobody writes any more.
	leftAfter = time.Hour
)

// Folder implements identity.Snapshots. Any goroutine may use it.
type Folder struct{ path string }

// New is the folder of that path, which is made by the first Save.
func New(path string) *Folder { return &Folder{path} }

// Open gives the snapshot of a game; fs.ErrNotExist if there is none.
func (f *Folder) Open(game string) (io.ReadCloser, error) { return os.Open(f.file(game)) }

// file names what cannot be in a file's name by its code.
func (f *Folder) file(game string) string {
	return filepath.Join(f.path, url.PathEscape(game)+suffix)
}

// Save keeps what write writes once it is on disk, and nothing of it if anything
// fails. It removes what killed processes have left unfinished.
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

// sync has the folder itself on disk.
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

// clear removes unfinished files that are older; what cannot be removed stays.
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
