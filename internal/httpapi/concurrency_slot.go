package httpapi

import (
	"errors"
	"io"
)

// concurrencySlot is the slot of one request in the limit of concurrent
// requests. The request holds it only while the node works. It releases the
// slot while it waits for the body and when the answer begins. Otherwise slow
// clients could hold all slots.
//
// A nil slot does nothing. Only the goroutine of the request may use it.
type concurrencySlot struct {
	shedder LoadShedder
	isHeld  bool
}

func (s *concurrencySlot) acquire() error {
	err := s.shedder.AcquireRequest()
	s.isHeld = err == nil
	return err
}

func (s *concurrencySlot) release() {
	if s != nil && s.isHeld {
		s.isHeld = false
		s.shedder.ReleaseRequest()
	}
}

// slottedBody is the body of a request with a slot. Read releases the slot
// while it waits and acquires it again at the end of the body. If no slot is
// free then, Read returns the refusal.
type slottedBody struct {
	io.ReadCloser
	slot *concurrencySlot
}

func (b slottedBody) Read(p []byte) (int, error) {
	b.slot.release()
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		if full := b.slot.acquire(); full != nil {
			err = full
		}
	}
	return n, err
}
