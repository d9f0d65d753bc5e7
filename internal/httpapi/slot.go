package httpapi

import (
	"errors"
	"io"

	"laststand/internal/overload"
)

// LoadShedder refuses work while the node is overloaded. *overload.Shedder
// implements it. ShouldShed returns true if the node refuses work of a kind now.
// Check returns the refusal, or nil. AcquireRequest counts a request, or refuses
// it if too many run. ReleaseRequest stops counting it.
type LoadShedder interface {
	ShouldShed(kind overload.Kind) bool
	Check(kind overload.Kind) error
	AcquireRequest() error
	ReleaseRequest()
}

// concurrencySlot is one request's place in the limit of concurrent requests. The
// request has the slot only while the node works for it, not while it waits for the
// body or writes the response. Otherwise slow clients could occupy all slots. Only the goroutine of the request may use it.
type concurrencySlot struct {
	shedder LoadShedder
	isHeld  bool
}

// acquire takes a slot, or returns the refusal.
func (s *concurrencySlot) acquire() error {
	err := s.shedder.AcquireRequest()
	s.isHeld = err == nil
	return err
}

// release returns the slot. It does nothing if the slot is not held.
func (s *concurrencySlot) release() {
	if s.isHeld {
		s.isHeld = false
		s.shedder.ReleaseRequest()
	}
}

// slotReleasingBody is the body of a request with a slot. Read releases the slot,
// since it waits for the client, and acquires a slot again at the end of the
// body. If no slot is free then, Read returns the refusal.
type slotReleasingBody struct {
	io.ReadCloser
	slot *concurrencySlot
}

func (b slotReleasingBody) Read(buffer []byte) (int, error) {
	b.slot.release()
	n, err := b.ReadCloser.Read(buffer)
	if errors.Is(err, io.EOF) {
		if refusal := b.slot.acquire(); refusal != nil {
			err = refusal
		}
	}
	return n, err
}
