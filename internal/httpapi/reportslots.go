package httpapi

import (
	"context"

	"laststand/internal/protocol"
)

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
