package ws

import "sync"

const (
	// outboxFrames and outboxBytes bound what waits for one slow reader.
	outboxFrames = 512
	outboxBytes  = 1 << 20
)

// outbox is the bounded queue of encoded frames of a session. It starts a writer when
// there are frames and no writer runs, so that an idle session has no writing
// goroutine.
//
// Between hold and release, pushes wait and replies pass, so that a reply precedes the
// pushes that it caused. The goroutine that called hold may itself be the writer. After
// close the outbox accepts and returns nothing.
//
// Example: hold; push A; reply B; release. The client gets B, then A.
type outbox struct {
	startWriter func() // starts a writer; called without the lock
	onFull      func() // called once, without the lock, when a bound is exceeded

	mu         sync.Mutex
	changed    sync.Cond // signalled when holding ends, when writing ends and on close
	queue      [][]byte
	bytes      int // of queue and held together
	held       []heldPush
	holding    bool
	writerHeld bool // the goroutine that called hold is the writer
	writing    bool // a writer runs or is about to; always true while queue has frames
	closed     bool
}

type heldPush struct {
	tag   string
	frame []byte
}

// init makes the outbox ready for use.
func (o *outbox) init(startWriter, onFull func()) {
	o.startWriter, o.onFull = startWriter, onFull
	o.changed.L = &o.mu
}

// push queues pushes that belong together, so that they are written together. While the
// outbox is held, it holds them back.
func (o *outbox) push(tag string, frames ...[]byte) {
	o.mu.Lock()
	if !o.holding || o.closed {
		o.unlockAndWake(o.queueLocked(frames...))
		return
	}
	for _, frame := range frames {
		o.held = append(o.held, heldPush{tag, frame})
		o.bytes += len(frame)
	}
	o.unlockAndWake(false)
}

// reply queues a reply before all pushes that are held back.
func (o *outbox) reply(frame []byte) {
	o.mu.Lock()
	o.unlockAndWake(o.queueLocked(frame))
}

// hold holds pushes back until release. If no writer runs, the caller becomes the
// writer: a reply then need not start a goroutine.
func (o *outbox) hold() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.holding = true
	if !o.writing {
		o.writing, o.writerHeld = true, true
	}
}

// release queues the pushes that were held back, and lets pushes pass again. It returns
// true if the caller is the writer, and must write what is queued.
func (o *outbox) release() (writes bool) {
	o.mu.Lock()
	writes, o.holding, o.writerHeld = o.writerHeld, false, false
	wake := false
	for _, h := range o.held {
		o.bytes -= len(h.frame)
		wake = o.queueLocked(h.frame) || wake
	}
	o.held = nil
	o.changed.Broadcast()
	o.unlockAndWake(wake)
	return writes
}

// dropHeld drops the held pushes with a tag.
func (o *outbox) dropHeld(tag string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	kept := o.held[:0]
	for _, h := range o.held {
		if h.tag != tag {
			kept = append(kept, h)
			continue
		}
		o.bytes -= len(h.frame)
	}
	clear(o.held[len(kept):])
	o.held = kept
}

// takeBatch returns all queued frames to the writer. After nil the writer must end.
func (o *outbox) takeBatch() [][]byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || len(o.queue) == 0 {
		o.writing = false
		o.changed.Broadcast()
		return nil
	}
	batch := o.queue
	o.queue = nil
	for _, frame := range batch {
		o.bytes -= len(frame)
	}
	return batch
}

// close drops what is queued and held.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closeLocked()
}

// flush waits until all that was queued and held is written, then closes the outbox. It
// returns at once if the outbox is closed in the meantime.
func (o *outbox) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for !o.closed && (o.holding || o.writing) {
		o.changed.Wait()
	}
	o.closeLocked()
}

// waitWriter waits until the writer of a closed outbox has ended.
func (o *outbox) waitWriter() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.writing {
		o.changed.Wait()
	}
}

// waitWrite waits until no frame of a closed outbox is being written by a writer
// goroutine.
func (o *outbox) waitWrite() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.writing && !o.writerHeld {
		o.changed.Wait()
	}
}

// isClosed returns true if the outbox is closed.
func (o *outbox) isClosed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.closed
}

// queueLocked queues frames and returns true if a writer must be started. The caller
// holds mu.
func (o *outbox) queueLocked(frames ...[]byte) bool {
	if o.closed {
		return false
	}
	o.queue = append(o.queue, frames...)
	for _, frame := range frames {
		o.bytes += len(frame)
	}
	if o.writing {
		return false
	}
	o.writing = true
	return true
}

// unlockAndWake is the last call of each method that adds frames: it checks the bounds
// and starts a writer.
func (o *outbox) unlockAndWake(wake bool) {
	full := !o.closed && (len(o.queue)+len(o.held) > outboxFrames || o.bytes > outboxBytes)
	if full {
		o.closeLocked()
	}
	if full && wake {
		wake, o.writing = false, false
	}
	o.mu.Unlock()
	if full {
		o.onFull()
	}
	if wake {
		o.startWriter()
	}
}

// closeLocked closes the outbox. The caller holds mu.
func (o *outbox) closeLocked() {
	o.closed = true
	o.queue, o.held, o.bytes = nil, nil, 0
	o.changed.Broadcast()
}
