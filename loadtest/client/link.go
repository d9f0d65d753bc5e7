package client

import (
	"sync"
	"time"
)

// link is a connection with a goroutine that reads its frames.
type link struct {
	*Player
	frames chan Frame // closed when the connection has ended
	err    error      // why the connection ended; valid once frames is closed
	done   chan struct{}
	reader sync.WaitGroup
}

func newLink(p *Player) *link {
	l := &link{Player: p, frames: make(chan Frame, 64), done: make(chan struct{})}
	l.reader.Go(l.read)
	return l
}

func (l *link) read() {
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

// end closes the connection without a close frame, and waits for its reader.
func (l *link) end() {
	close(l.done)
	_ = l.Close()
	l.reader.Wait()
}
