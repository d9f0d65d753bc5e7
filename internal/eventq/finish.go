package eventq

import (
	"context"
	"errors"

	"laststand/internal/timer"
)

// finish reports what became of items of a batch. The batch ends unless items
// are left, which stay in flight; then it returns true. If the store does not
// answer, the batch waits and reports the same again. After false the caller no
// longer owns the batch.
func (s *sender) finish(ctx context.Context, b *batch) (hasMore bool) {
	b.step = stepFinish
	b.result.Left, b.result.Now = int64(len(b.items)), s.Now()
	calling, cancel := callContext(ctx)
	defer cancel()
	err := s.Queue.Finish(calling, b.game.Policy, b.result)
	switch {
	case errors.Is(err, ErrNotInFlight):
		s.logLost(b)
		s.removeBatch(b)
	case err != nil:
		s.recordError("finish", err)
		s.wait(ctx, b)
	case len(b.items) > 0:
		b.step, b.result = stepSend, BatchResult{Batch: b.id}
		return true
	default:
		s.removeBatch(b)
	}
	return false
}

// logLost logs a batch whose lease has ended. The store has counted it.
func (s *sender) logLost(b *batch) {
	s.Logger.Warn("a batch of behaviours was not in flight any more", "game", b.game.Game, "sent", b.result.Sent)
}

// removeBatch forgets a batch that has ended.
func (s *sender) removeBatch(b *batch) {
	b.step, b.items, b.rest = stepNone, nil, nil
	if b.isWaiting {
		b.isWaiting = false
		b.game.partition.removeWaiting(b)
		b.game.sending.addWaiting(-1)
		s.countWaiting(b)
		timer.Wake(b.game.partition.pollNow)
	}
}
