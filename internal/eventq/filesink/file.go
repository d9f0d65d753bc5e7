package filesink

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// ErrTaken says that another sink writes to the file.
var ErrInUse = errors.New("another sink writes to the file")

// ready has the file open that the path leads to, which is another one after
// the last was moved away, and gives its size, which others may have cut.
func (s *Sink) openCurrent() (int64, error) {
	if s.file == nil {
		return s.open()
	}
	current, err := os.Stat(s.options.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	opened, openedErr := s.file.Stat()
	if openedErr != nil {
		return 0, openedErr
	}
	if err == nil && os.SameFile(current, opened) {
		return opened.Size(), nil
	}
	_ = s.closeFile() // it is of no more use
	return s.open()
}

// forget closes the file, whose lock does not stay with a process that is being
// started just now and has a copy of its descriptor.
func (s *Sink) closeFile() error {
	file := s.file
	s.file = nil
	return errors.Join(syscall.Flock(int(file.Fd()), syscall.LOCK_UN), file.Close())
}

// open makes the file where there is none, and gives its size.
func (s *Sink) open() (int64, error) {
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

// claim locks a file, until it is closed, and makes it whole.
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
	torn, err := isTorn(file, info.Size())
	if err != nil || !torn {
		return info.Size(), err
	}
	_, err = file.Write([]byte{'\n'})
	return info.Size() + 1, err
}

// isTorn holds where the last line has no end, as after a crash.
func isTorn(file *os.File, size int64) (bool, error) {
	if size == 0 {
		return false, nil
	}
	last := make([]byte, 1)
	_, err := file.ReadAt(last, size-1)
	return last[0] != '\n', err
}
