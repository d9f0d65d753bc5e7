package match

import "context"

// answerSlot lets one goroutine at a time store an answer of a duel, or a right answer of a
// buzzer match. Only the goroutine that has taken the slot uses lastClosed.
type answerSlot struct {
	taken      chan struct{}
	lastClosed int // last question of a buzzer match known to be won or closed; -1 for none
}

func newAnswerSlot() answerSlot { return answerSlot{taken: make(chan struct{}, 1), lastClosed: -1} }

// take waits until the slot is free, and takes it.
func (s *answerSlot) take(ctx context.Context) error {
	select {
	case s.taken <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *answerSlot) release() { <-s.taken }
