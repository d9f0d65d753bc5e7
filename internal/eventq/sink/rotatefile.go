package sink

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
)

// rotate renames the full file and begins a new one.
func (s *File) rotate() (int64, error) {
	if err := s.makeRoom(); err != nil {
		return 0, err
	}
	if err := os.Rename(s.options.Path, s.rotatedPath(1)); err != nil {
		return 0, err
	}
	if err := s.closeFile(); err != nil {
		return 0, err
	}
	return s.open()
}

// makeRoom moves the full files up to the first gap, so that it does not repeat
// the moves of an interrupted rotation. Without a gap it overwrites the oldest
// file.
func (s *File) makeRoom() error {
	gap := 1
	for gap < s.options.Keep && exists(s.rotatedPath(gap)) {
		gap++
	}
	for i := gap; i > 1; i-- {
		if err := os.Rename(s.rotatedPath(i-1), s.rotatedPath(i)); err != nil {
			return err
		}
	}
	return nil
}

func (s *File) rotatedPath(i int) string { return s.options.Path + "." + strconv.Itoa(i) }

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
