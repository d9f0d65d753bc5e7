package redisx

import (
	"net"
	"sync"
)

// bufferedPipe is an end of a pipe whose writes do not block. A pipe has no buffer. The
// client writes a whole pipeline before it reads a reply, and the embedded server answers
// a command before it reads the next. Without a buffer, both would wait for each other.
type bufferedPipe struct {
	net.Conn

	mu        sync.Mutex
	pending   []byte // written by the client, and not yet by writePending
	isWriting bool   // writePending runs, or has failed
}

// Write implements net.Conn. If the pipe fails, reads return the error.
func (p *bufferedPipe) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending = append(p.pending, data...)
	if !p.isWriting {
		p.isWriting = true
		go p.writePending() // ends when nothing is pending or the pipe is closed
	}
	return len(data), nil
}

// writePending writes to the pipe until nothing is pending.
func (p *bufferedPipe) writePending() {
	for {
		p.mu.Lock()
		batch := p.pending
		p.pending = nil
		p.isWriting = len(batch) > 0
		p.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		if _, err := p.Conn.Write(batch); err != nil {
			_ = p.Close()
			return
		}
	}
}
