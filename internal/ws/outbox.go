package ws

import (
	"slices"
	"sync"
)

const (
	// The limits of the frames that wait for one slow client.
	maxOutboxFrames = 512
	maxOutboxBytes  = 1 << 20
)

// outbox is the bounded queue of encoded frames of a session. It starts a writer when
// there are frames and no writer runs. So an idle session has no writing goroutine. It is
// safe for concurrent use.
//
// Between hold and release, pushes wait and replies are queued, so that the client gets a
// reply before the pushes that its request caused. The goroutine that called hold may
// itself be the writer. After close the outbox drops new frames and returns none.
//
// Example: hold; push A; reply B; release. The client gets B, then A.
type outbox struct {
	startWriter func() // starts a writer; called without the lock
	onFull      func() // called once, without the lock, when a limit is exceeded; the outbox is closed then

	mu             sync.Mutex
	changed        sync.Cond // signalled on release, on close and when a writer ends
	queue          [][]byte
	bytes          int        // size of the frames in queue and held
	held           []heldPush // pushes that wait for release
	isHolding      bool       // between hold and release
	holderIsWriter bool       // the goroutine that called hold is the writer
	hasWriter      bool       // a writer runs or is being started; always true while queue has frames
	closed         bool
}

// heldPush is a push that waits for release. tag names its source, see dropHeld.
type heldPush struct {
	tag   string
	frame []byte
}

func (o *outbox) init(startWriter, onFull func()) {
	o.startWriter, o.onFull = startWriter, onFull
	o.changed.L = &o.mu
}

// push queues pushes that are written together. Between hold and release it holds them
// back instead. tag names the source of the pushes, see dropHeld.
func (o *outbox) push(tag string, frames ...[]byte) {
	o.mu.Lock()
	if o.isHolding {
		o.held = slices.Grow(o.held, len(frames))
	} else {
		o.queue = slices.Grow(o.queue, len(frames))
	}
	for _, frame := range frames {
		if o.isHolding {
			o.held = append(o.held, heldPush{tag, frame})
		} else {
			o.queue = append(o.queue, frame)
		}
		o.bytes += len(frame)
	}
	o.unlockAndStartWriter()
}

// reply queues a reply, also between hold and release.
func (o *outbox) reply(frame []byte) {
	o.mu.Lock()
	o.queue = append(slices.Grow(o.queue, 1+len(o.held)), frame) // release adds those held
	o.bytes += len(frame)
	o.unlockAndStartWriter()
}

// hold holds pushes back until release. If no writer runs, the caller becomes the writer,
// so that a reply starts no goroutine.
func (o *outbox) hold() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.isHolding = true
	if !o.hasWriter {
		o.hasWriter, o.holderIsWriter = true, true
	}
}

// release queues the pushes that were held back, and ends hold. It returns true if the
// caller is the writer and must write the queued frames.
func (o *outbox) release() (mustWrite bool) {
	o.mu.Lock()
	mustWrite, o.isHolding, o.holderIsWriter = o.holderIsWriter, false, false
	for _, push := range o.held {
		o.queue = append(o.queue, push.frame)
	}
	o.held = nil
	o.changed.Broadcast()
	o.unlockAndStartWriter()
	return mustWrite
}

func (o *outbox) dropHeld(tag string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held = slices.DeleteFunc(o.held, func(push heldPush) bool {
		if push.tag == tag {
			o.bytes -= len(push.frame)
		}
		return push.tag == tag
	})
}

// takeBatch removes all queued frames and returns them to the writer. After nil the
// writer must end.
func (o *outbox) takeBatch() [][]byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || len(o.queue) == 0 {
		o.hasWriter = false
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

// close drops all frames, queued and held. Frames that come later are dropped too.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closeLocked()
}

// flush waits until all queued and held frames are written, then closes the outbox. If
// the outbox is closed in the meantime, it returns immediately.
func (o *outbox) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for !o.closed && (o.isHolding || o.hasWriter) {
		o.changed.Wait()
	}
	o.closeLocked()
}

// waitForWriterEnd waits until no writer runs. The caller has closed the outbox.
func (o *outbox) waitForWriterEnd() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.hasWriter {
		o.changed.Wait()
	}
}

// unlockAndStartWriter is the last call of each method that adds frames. It drops them if
// the outbox is closed, checks the limits, unlocks mu, and starts a writer if none runs.
func (o *outbox) unlockAndStartWriter() {
	isFull := !o.closed && (len(o.queue)+len(o.held) > maxOutboxFrames || o.bytes > maxOutboxBytes)
	if isFull || o.closed {
		o.closeLocked()
	}
	startWriter := len(o.queue) > 0 && !o.hasWriter
	o.hasWriter = o.hasWriter || startWriter
	o.mu.Unlock()
	if isFull {
		o.onFull()
	}
	if startWriter {
		o.startWriter()
	}
}

// closeLocked closes the outbox. The caller holds mu.
func (o *outbox) closeLocked() {
	o.closed = true
	o.queue, o.held, o.bytes = nil, nil, 0
	o.changed.Broadcast()
}
