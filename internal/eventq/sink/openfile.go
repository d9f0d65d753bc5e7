package sink

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// ErrInUse says that another sink writes to the file.
var ErrInUse = errors.New("another sink writes to the file")

// openCurrent opens the file at the path and returns its size. It opens a new file
// after the last one was moved away. Other processes may have truncated the file.
func (s *File) openCurrent() (int64, error) {
	if s.file == nil {
		return s.open()
	}
	current, err := os.Stat(s.options.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	if opened, openedErr := s.file.Stat(); err == nil && openedErr == nil && os.SameFile(current, opened) {
		return opened.Size(), nil
	}
	_ = s.closeFile() // the file is not used any more
	return s.open()
}

// closeFile closes and unlocks the file. A child process that is starting may
// still have a copy of the descriptor; without the unlock it would keep the lock.
func (s *File) closeFile() error {
	file := s.file
	s.file = nil
	return errors.Join(syscall.Flock(int(file.Fd()), syscall.LOCK_UN), file.Close())
}

// open creates the file if it does not exist, and returns its size.
func (s *File) open() (int64, error) {
	if err := os.MkdirAll(filepath.Dir(s.options.Path), 0o700); err != nil {
		return 0, err
	}
	file, err := os.OpenFile(s.options.Path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return 0, err
	}
	size, err := lockAndRepair(file)
	if err != nil {
		_ = file.Close()
		return 0, err
	}
	s.file = file
	return size, nil
}

// lockAndRepair locks a file until it is closed. It completes a torn last line.
func lockAndRepair(file *os.File) (size int64, err error) {
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return 0, fmt.Errorf("%w: %s", ErrInUse, file.Name())
	}
	if err != nil {
		return 0, fmt.Errorf("lock %s: %w", file.Name(), err)
	}
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	last := []byte{'\n'}
	if info.Size() > 0 {
		_, err = file.ReadAt(last, info.Size()-1)
	}
	if err != nil || last[0] == '\n' {
		return info.Size(), err
	}
	_, err = file.Write([]byte{'\n'}) // ends the torn line
	return info.Size() + 1, err
}

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
