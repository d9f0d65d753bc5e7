package sink

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"laststand/internal/eventq"
)

// FileOptions say where the behaviours of a game go. Sinks must not share a file.
type FileOptions struct {
	Path        string
	MaxBytes    int64 // a batch that would make the file larger goes into a new one
	Keep        int   // full files, at least 1; Path.1 is the newest
	CreateLater bool  // Send creates the file for the first batch, and fails if it cannot
}

const closeTimeout = 2 * time.Second

// File implements eventq.Sink. Accepted batches survive a crash of the process. A
// loss of power may lose the last seconds.
type File struct {
	options FileOptions

	busy     chan struct{} // full while a call uses the fields below, also on a disk that hangs
	file     *os.File      // nil: Send must open it
	lines    []byte
	isClosed bool
}

// OpenFile creates the file, and its folders if they are missing. It locks the file,
// and returns ErrInUse if another sink of any process has the lock.
func OpenFile(o FileOptions) (*File, error) {
	s := &File{options: o, busy: make(chan struct{}, 1)}
	if !o.CreateLater {
		if _, err := s.openCurrent(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Check returns nil: a file accepts every behaviour.
func (s *File) Check(eventq.Behaviour) error { return nil }

// Send appends a batch in one write. If the batch does not fit, Send removes what
// it wrote, and the caller may retry. If the disk hangs until ctx ends, the batch may
// still arrive.
func (s *File) Send(ctx context.Context, b eventq.Batch) eventq.Outcome {
	err := s.do(ctx, func() error { return s.append(b.Items) })
	switch {
	case err == nil:
		return eventq.Outcome{Delivery: eventq.Delivered, Code: "ok"}
	case ctx.Err() != nil:
		return eventq.Outcome{Delivery: eventq.TryAgain, Code: "canceled", Err: err}
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		return eventq.Outcome{Delivery: eventq.TryAgain, Code: "full", Err: err}
	}
	return eventq.Outcome{Delivery: eventq.TryAgain, Code: "io", Err: err}
}

// Close syncs the file to the disk, for at most closeTimeout. Later calls of Send
// fail.
func (s *File) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return s.do(ctx, func() error {
		s.isClosed = true
		if s.file == nil {
			return nil
		}
		return errors.Join(s.file.Sync(), s.closeFile())
	})
}

// do does one thing at a time with the file. It does not wait after ctx has ended,
// because nothing ends a call of a disk that hangs.
func (s *File) do(ctx context.Context, work func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.busy <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	done := make(chan error, 1)
	go func() { // this call waits for it, and the next call does
		err := work()
		<-s.busy
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
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
