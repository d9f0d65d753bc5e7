package sink

import (
	"context"
	"errors"
	"os"
	"sync"
	"syscall"

	"laststand/internal/eventq"
)

// FileOptions say where the behaviours of a game go. Sinks must not share a file.
type FileOptions struct {
	Path        string
	MaxBytes    int64 // a batch that would make the file larger goes into a new one; 0: 64 MiB
	Keep        int   // full files, Path.1 the newest; 0: 8
	CreateLater bool  // Send creates the file for the first batch, and fails if it cannot
}

const (
	defaultMaxBytes = 64 << 20
	defaultKeep     = 8
)

// File implements eventq.Sink. Accepted batches survive a crash of the process. A
// loss of power may lose the last seconds.
type File struct {
	options FileOptions

	mu       sync.Mutex
	file     *os.File // nil: Send must open it
	lines    []byte
	isClosed bool
}

// OpenFile creates the file, and its folders if they are missing. It locks the file,
// and returns ErrInUse if another sink of any process has the lock.
func OpenFile(o FileOptions) (*File, error) {
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMaxBytes
	}
	if o.Keep <= 0 {
		o.Keep = defaultKeep
	}
	s := &File{options: o}
	if o.CreateLater {
		return s, nil
	}
	if _, err := s.openCurrent(); err != nil {
		return nil, err
	}
	return s, nil
}

// Check returns nil: a file accepts every behaviour.
func (s *File) Check(eventq.Behaviour) error { return nil }

// Send appends a batch in one write. If the batch does not fit, Send removes what
// it wrote, and the caller may retry.
func (s *File) Send(ctx context.Context, b eventq.Batch) eventq.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := ctx.Err()
	if err == nil {
		err = s.append(b.Items)
	}
	if err != nil {
		return eventq.Outcome{Delivery: eventq.TryAgain, Code: fileErrorCode(err), Err: err}
	}
	return eventq.Outcome{Delivery: eventq.Delivered, Code: "ok"}
}

// Close syncs the file to the disk. Later calls of Send fail.
func (s *File) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isClosed = true
	if s.file == nil {
		return nil
	}
	return errors.Join(s.file.Sync(), s.closeFile())
}

func (s *File) append(items []eventq.Item) error {
	if s.isClosed {
		return os.ErrClosed
	}
	s.lines = s.lines[:0]
	for _, item := range items {
		s.lines = append(append(s.lines, item.Body...), '\n')
	}
	size, err := s.openCurrent()
	if err != nil {
		return err
	}
	if size > 0 && size+int64(len(s.lines)) > s.options.MaxBytes {
		if size, err = s.rotate(); err != nil {
			return err
		}
	}
	if _, err := s.file.Write(s.lines); err != nil {
		return errors.Join(err, s.truncate(size))
	}
	return nil
}

// truncate removes a partial write of a batch. If that fails, the sink opens the
// file again, which ends the torn line.
func (s *File) truncate(size int64) error {
	err := s.file.Truncate(size)
	if err != nil {
		_ = s.closeFile()
	}
	return err
}

// fileErrorCode returns a code from a closed set.
func fileErrorCode(err error) string {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "canceled"
	case errors.Is(err, os.ErrClosed):
		return "closed"
	case errors.Is(err, ErrInUse):
		return "taken"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		return "full"
	}
	return "io"
}
