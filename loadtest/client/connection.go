package client

import (
	"sync"
	"time"
)

// connection is a connection with a goroutine that reads its frames.
type connection struct {
	*Player
	frames chan Frame // closed when the connection has ended
	err    error      // why the connection ended; valid once frames is closed
	done   chan struct{}
	reader sync.WaitGroup
}

func newConnection(p *Player) *connection {
	l := &connection{Player: p, frames: make(chan Frame, 64), done: make(chan struct{})}
	l.reader.Go(l.read)
	return l
}

func (l *connection) read() {
	defer close(l.frames)
	for {
		f, err := l.Read(time.Hour)
		if err != nil {
			l.err = err
			return
		}
		select {
		case l.frames <- f:
		case <-l.done:
			return
		}
	}
}

// close closes the connection without a close frame, and waits for its reader.
func (l *connection) close() {
	close(l.done)
	_ = l.Close()
	l.reader.Wait()
}
