package filesink

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
)

// rotate puts the full file aside and begins another.
func (s *Sink) rotate() (int64, error) {
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

// makeRoom moves the full files up to the first gap, so that what was done by
// halves is not done twice; without a gap the oldest goes.
func (s *Sink) makeRoom() error {
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

func (s *Sink) rotatedPath(i int) string { return s.options.Path + "." + strconv.Itoa(i) }

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
