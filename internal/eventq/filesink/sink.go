// Package filesink reports behaviours into a file, a line of JSON each, that
// is rotated by its size.
package filesink

import (
	"context"
	"errors"
	"os"
	"sync"
	"syscall"

	"laststand/internal/eventq"
)

// Options say where a game's behaviours go. Sinks do not share a file.
type Options struct {
	Path        string
	MaxBytes    int64 // a batch that would make the file larger goes into a new one; 0: 64 MiB
	Keep        int   // full files, Path.1 the newest; 0: 8
	CreateLater bool  // it is made with the first batch, whose try fails where it cannot be
}

const (
	maxBytes = 64 << 20
	keep     = 8
)

// Sink is a eventq.Sink. What has arrived outlives the process; a loss of
// power may take the last seconds.
type Sink struct {
	options Options

	mu       sync.Mutex
	file     *os.File // nil: to be opened
	lines    []byte
	isClosed bool
}

// Open makes the file, and folders that are missing. Nobody else may write to
// it: ErrTaken where another sink does, of any process.
func Open(o Options) (*Sink, error) {
	if o.MaxBytes <= 0 {
		o.MaxBytes = maxBytes
	}
	if o.Keep <= 0 {
		o.Keep = keep
	}
	s := &Sink{options: o}
	if o.CreateLater {
		return s, nil
	}
	if _, err := s.openCurrent(); err != nil {
		return nil, err
	}
	return s, nil
}

// Check finds no fault: a file takes every behaviour.
func (s *Sink) Check(eventq.Behaviour) error { return nil }

// Send appends a batch in one write. A batch that did not fit whole leaves
// nothing behind, and is worth another try.
func (s *Sink) Send(ctx context.Context, b eventq.Batch) eventq.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := ctx.Err()
	if err == nil {
		err = s.append(b.Items)
	}
	if err != nil {
		return eventq.Outcome{Delivery: eventq.TryAgain, Code: codeOf(err), Err: err}
	}
	return eventq.Outcome{Delivery: eventq.Delivered, Code: "ok"}
}

// Close has the file on the disk. What is sent afterwards does not arrive.
func (s *Sink) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isClosed = true
	if s.file == nil {
		return nil
	}
	return errors.Join(s.file.Sync(), s.closeFile())
}

func (s *Sink) append(items []eventq.Item) error {
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

// cut takes back what was written of a batch. Where even that fails the file is
// opened anew, which ends the torn line.
func (s *Sink) truncate(size int64) error {
	err := s.file.Truncate(size)
	if err != nil {
		_ = s.closeFile()
	}
	return err
}

// cause is a word of a closed set.
func codeOf(err error) string {
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
