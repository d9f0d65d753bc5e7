package players

import (
	"sync"
	"time"

	"laststand/loadtest/checker"
)

// frameReader is a connection with a goroutine that reads its frames.
type frameReader struct {
	*Player
	frames chan checker.Frame // closed when the connection has ended
	err    error              // why the connection ended; valid once frames is closed
	done   chan struct{}
	reader sync.WaitGroup
}

func newFrameReader(p *Player) *frameReader {
	l := &frameReader{Player: p, frames: make(chan checker.Frame, 64), done: make(chan struct{})}
	l.reader.Go(l.read)
	return l
}

func (l *frameReader) read() {
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
func (l *frameReader) close() {
	close(l.done)
	_ = l.Close()
	l.reader.Wait()
}
