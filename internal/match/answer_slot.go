package match

import "context"

// answerSlot lets one goroutine at a time store an answer of a duel, or a right answer of a
// buzzer match. Only the goroutine that has taken the slot uses lastWon.
type answerSlot struct {
	taken   chan struct{}
	lastWon int // last question of a buzzer match known to be won; -1 for none
}

func newAnswerSlot() answerSlot { return answerSlot{taken: make(chan struct{}, 1), lastWon: -1} }

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
