package match

import (
	"context"
	"maps"
)

// answerSlot lets one goroutine at a time store an answer of a duel, or a right answer of a
// buzzer match. Only the goroutine that has taken the slot uses the other fields.
type answerSlot struct {
	taken    chan struct{}
	lastWon  int   // last question of a buzzer match known to be won; -1 for none
	answered *View // of a duel after its newest answer, as far as this node knows it; may be nil
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

// viewWithLastAnswer returns what this node knows of a duel if a record becomes the last one
// of the question. It returns nil if this node does not know all others, or if the duel
// has a newer version.
func (s *answerSlot) viewWithLastAnswer(record Record, version int64) *View {
	if s.answered == nil {
		return nil
	}
	view := *s.answered
	_, isRepeated := view.Records[record.Player]
	if view.Question != record.Question || view.Version != version || isRepeated ||
		int64(len(view.Records))+1 != view.Alive || record.ArrivedAt > view.ClosesAt {
		return nil
	}
	view.Records, view.Totals = maps.Clone(view.Records), maps.Clone(view.Totals)
	view.Records[record.Player], view.Totals[record.Player] = record, view.Totals[record.Player].withRecord(record)
	view.countAnswers()
	return &view
}
