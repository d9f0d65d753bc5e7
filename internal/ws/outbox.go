package ws

import "sync"

const (
	// outboxFrames and outboxBytes bound what waits for one slow reader.
	outboxFrames = 512
	outboxBytes  = 1 << 20
)

// outbox is the bounded queue of encoded frames of a session. While it is
// held, pushes wait and replies pass, so that a reply precedes the pushes that
// it caused. It wakes a writer when there is something to write and none does:
// an idle session has no writing goroutine, and who holds the outbox writes what
// came meanwhile. After close it takes nothing and gives nothing.
type outbox struct {
	wake func() // starts a writer; called without the lock
	full func() // called once, without the lock, when a bound is passed

	mu      sync.Mutex
	still   sync.Cond // told when holding or writing ends, and of close
	queue   [][]byte
	bytes   int // queued and held
	held    []heldPush
	holding bool
	lent    bool // who holds is the writer
	writing bool // a writer is at work or about to be; so it is while queue holds anything
	closed  bool
}

type heldPush struct {
	match string
	frame []byte
}

// init makes the outbox ready for use.
func (o *outbox) init(wake, full func()) {
	o.wake, o.full = wake, full
	o.still.L = &o.mu
}

// push queues pushes that belong together, so that they are written together, or
// holds them back while replies are due first.
func (o *outbox) push(match string, frames ...[]byte) {
	o.mu.Lock()
	if !o.holding || o.closed {
		o.unlockAndWake(o.append(frames...))
		return
	}
	for _, frame := range frames {
		o.held = append(o.held, heldPush{match, frame})
		o.bytes += len(frame)
	}
	o.unlockAndWake(false)
}

// reply queues a reply, before all pushes that are held back.
func (o *outbox) reply(frame []byte) {
	o.mu.Lock()
	o.unlockAndWake(o.append(frame))
}

// hold holds pushes back until release. Where no writer is at work its caller
// is the one from here on: a reply need not wake another.
func (o *outbox) hold() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.holding = true
	if !o.writing {
		o.writing, o.lent = true, true
	}
}

// release queues what was held back, and lets pushes pass again. It says
// whether its caller is the writer, and has to take what there is.
func (o *outbox) release() (writes bool) {
	o.mu.Lock()
	writes, o.holding, o.lent = o.lent, false, false
	wake := false
	for _, h := range o.held {
		o.bytes -= len(h.frame)
		wake = o.append(h.frame) || wake
	}
	o.held = nil
	o.still.Broadcast()
	o.unlockAndWake(wake)
	return writes
}

// forget drops the held pushes of a match.
func (o *outbox) forget(match string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	kept := o.held[:0]
	for _, h := range o.held {
		if h.match != match {
			kept = append(kept, h)
			continue
		}
		o.bytes -= len(h.frame)
	}
	clear(o.held[len(kept):])
	o.held = kept
}

// take gives the writer all that is queued; nil ends the writer.
func (o *outbox) take() [][]byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || len(o.queue) == 0 {
		o.writing = false
		o.still.Broadcast()
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
	o.shut()
}

// flush waits until all that was queued and held has been written, then closes
// the outbox. Where it is closed meanwhile it returns at once.
func (o *outbox) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for !o.closed && (o.holding || o.writing) {
		o.still.Wait()
	}
	o.shut()
}

// join waits for the writer of a closed outbox to end.
func (o *outbox) join() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.writing {
		o.still.Wait()
	}
}

// quiet waits until nothing of a closed outbox is being written.
func (o *outbox) quiet() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.writing && !o.lent {
		o.still.Wait()
	}
}

// shuttered says whether the outbox is closed.
func (o *outbox) shuttered() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.closed
}

// append queues frames and says whether a writer has to be woken. The caller
// holds mu.
func (o *outbox) append(frames ...[]byte) bool {
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

// unlockAndWake ends every call that has put something in.
func (o *outbox) unlockAndWake(wake bool) {
	over := !o.closed && (len(o.queue)+len(o.held) > outboxFrames || o.bytes > outboxBytes)
	if over {
		o.shut()
	}
	if over && wake {
		wake, o.writing = false, false
	}
	o.mu.Unlock()
	if over {
		o.full()
	}
	if wake {
		o.wake()
	}
}

// shut closes the outbox. The caller holds mu.
func (o *outbox) shut() {
	o.closed = true
	o.queue, o.held, o.bytes = nil, nil, 0
	o.still.Broadcast()
}
