package match

import "context"

// raceSlot lets one right answer at a time from this node try to be first in a buzzer
// match. Only the holder of the slot uses lastWon.
type raceSlot struct {
	slot    chan struct{} // full while an answer holds the slot
	lastWon int           // last question known to be won; -1 for none
}

func newRaceSlot() raceSlot { return raceSlot{slot: make(chan struct{}, 1), lastWon: -1} }

func (r *raceSlot) enter(ctx context.Context) error {
	select {
	case r.slot <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *raceSlot) leave() { <-r.slot }

// isWon reports whether a question is known to be won. The caller holds the slot.
func (r *raceSlot) isWon(question int) bool { return r.lastWon >= question }

// noteWon records that a question is won or closed. The caller holds the slot.
func (r *raceSlot) noteWon(question int) { r.lastWon = max(r.lastWon, question) }
