package httpapi

import (
	"context"

	"laststand/internal/overload"
	"laststand/internal/protocol"
)

// LoadShedder refuses work while the node is overloaded. *overload.Shedder
// implements it. ShouldShed returns true if the node refuses work of a kind now.
// Check returns the refusal, or nil. Acquire counts a request until the caller calls
// release, or refuses it if too many run.
type LoadShedder interface {
	ShouldShed(kind overload.Kind) bool
	Check(kind overload.Kind) error
	Acquire(kind overload.Kind) (release func(), err error)
}

// concurrencySlot is one request's place in the limit of concurrent requests. The
// request has the slot only while the node works for it, not while it waits for the
// body or writes the response. Otherwise slow clients could occupy all slots. Only the
// goroutine of the request may use it. A nil slot is for requests without a limit.
type concurrencySlot struct {
	shedder     LoadShedder
	releaseSlot func() // nil if the slot is not held
}

// acquire takes a slot, or returns the refusal.
func (s *concurrencySlot) acquire() (err error) {
	if s == nil {
		return nil
	}
	s.releaseSlot, err = s.shedder.Acquire(overload.Requests)
	return err
}

// release returns the slot. It does nothing if the slot is not held.
func (s *concurrencySlot) release() {
	if s != nil && s.releaseSlot != nil {
		s.releaseSlot()
		s.releaseSlot = nil
	}
}

// maxReports limits the reports that a node computes at the same time. A large one takes
// seconds of a core. A game has one at a time, so it cannot delay the others for long.
const maxReports = 4

// reportSlots limits concurrent reports.
type reportSlots struct {
	node  chan struct{}            // full while the node computes maxReports
	games map[string]chan struct{} // full while the node computes a report of the game
}

func newReportSlots(games []string) reportSlots {
	slots := reportSlots{make(chan struct{}, maxReports), map[string]chan struct{}{}}
	for _, game := range games {
		slots.games[game] = make(chan struct{}, 1)
	}
	return slots
}

// run calls compute when the game and the node have a slot, and returns its error. It refuses
// after reportTimeout. The caller must write the response later, because that waits for the
// client.
func (s reportSlots) run(ctx context.Context, game string, compute func() error) error {
	waiting, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	for _, slot := range []chan struct{}{s.games[game], s.node} {
		select {
		case slot <- struct{}{}:
			defer func() { <-slot }()
		case <-waiting.Done():
			return protocol.RetryAfter(protocol.CodeOverloaded, 5000, "the node computes many reports; retry in 5 s")
		}
	}
	return compute()
}
