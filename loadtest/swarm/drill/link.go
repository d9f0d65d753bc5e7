package drill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"laststand/loadtest/swarm/crowd"
)

// link is a crowd in its process.
type link struct {
	Process
	connected atomic.Int64
	playing   atomic.Int64
	reading   sync.WaitGroup
	gone      chan struct{} // closed when the output has ended
	done      *crowd.Done   // valid once gone is closed, nil where it ended otherwise
	err       error         // why it did

	writing sync.Mutex
}

func newLink(p Process) *link { return &link{Process: p, gone: make(chan struct{})} }

// tell writes a line.
func (l *link) tell(v any) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	return json.NewEncoder(l).Encode(v)
}

// read hands on what the crowd says, until it ends.
func (l *link) read(take func(crowd.Said)) {
	defer close(l.gone)
	for lines := json.NewDecoder(l.Output()); ; {
		var s crowd.Said
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

// ended is an error where the crowd has ended before it was to.
func (l *link) ended() error {
	select {
	case <-l.gone:
		if l.done == nil {
			return fmt.Errorf("process %d of the swarm has ended: %w", l.ID(), l.err)
		}
	default:
	}
	return nil
}

// told is what the crowd has said in the end; nil: it has not.
func (l *link) told() *crowd.Done {
	select {
	case <-l.gone:
		return l.done
	default:
		return nil
	}
}

// wait waits until the crowd has said all.
func (l *link) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-l.gone:
		return l.ended()
	}
}

// drop ends a process whatever it does, and waits for its end.
func (l *link) drop() {
	select {
	case <-l.gone:
	default:
		_ = l.Kill()
	}
	l.reading.Wait()
	if err := l.End(); err != nil && l.done != nil {
		l.err = errors.Join(l.err, err)
	}
}
