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

// worker is a crowd in its process.
type worker struct {
	Process
	connected   atomic.Int64
	playing     atomic.Int64
	reading     sync.WaitGroup
	outputEnded chan struct{}    // closed when the output has ended
	done        *clients.Summary // valid once gone is closed, nil where it ended otherwise
	err         error            // why it did

	writing sync.Mutex
}

func newWorker(p Process) *worker { return &worker{Process: p, outputEnded: make(chan struct{})} }

// send writes a line.
func (l *worker) send(v any) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	return json.NewEncoder(l).Encode(v)
}

// read hands on what the crowd says, until it ends.
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

// endError is an error where the crowd has ended before it was to.
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

// summary is what the crowd has said in the end; nil: it has not.
func (l *worker) summary() *clients.Summary {
	select {
	case <-l.outputEnded:
		return l.done
	default:
		return nil
	}
}

// wait waits until the crowd has said all.
func (l *worker) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-l.outputEnded:
		return l.endError()
	}
}

// drop ends a process whatever it does, and waits for its end.
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
