package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"laststand/loadtest/swarm/clients"
)

// worker is a client process.
type worker struct {
	Process
	connected   atomic.Int64
	playing     atomic.Int64
	reading     sync.WaitGroup
	outputEnded chan struct{}    // closed at the end of the output
	done        *clients.Summary // valid once outputEnded is closed; nil if the process ended without a summary
	err         error            // why the process ended

	writing sync.Mutex
}

func newWorker(p Process) *worker { return &worker{Process: p, outputEnded: make(chan struct{})} }

// send writes one line to the process.
func (l *worker) send(v any) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	return json.NewEncoder(l).Encode(v)
}

// read passes on the updates of the process until it ends.
func (l *worker) read(take func(clients.Update)) {
	defer close(l.outputEnded)
	for lines := json.NewDecoder(l.Output()); ; {
		var s clients.Update
		if l.err = lines.Decode(&s); l.err != nil {
			return
		}
		l.connected.Store(s.Connected)
		l.playing.Store(s.Playing)
		take(s)
		if s.Done != nil {
			l.done = s.Done
			_, _ = io.Copy(io.Discard, l.Output())
			return
		}
	}
}

// endError returns an error if the process ended too early.
func (l *worker) endError() error {
	select {
	case <-l.outputEnded:
		if l.done == nil {
			return fmt.Errorf("process %d of the swarm has ended: %w", l.ID(), l.err)
		}
	default:
	}
	return nil
}

// summary returns the last summary of the process; nil: there is none yet.
func (l *worker) summary() *clients.Summary {
	select {
	case <-l.outputEnded:
		return l.done
	default:
		return nil
	}
}

// wait waits until the process has written all of its output.
func (l *worker) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-l.outputEnded:
		return l.endError()
	}
}

// drop kills a process and waits for its end.
func (l *worker) drop() {
	select {
	case <-l.outputEnded:
	default:
		_ = l.Kill()
	}
	l.reading.Wait()
	if err := l.End(); err != nil && l.done != nil {
		l.err = errors.Join(l.err, err)
	}
}
