package eventq

import (
	"context"
	"errors"
	"slices"
)

// finishAll ends the batches of a take. It ends fully sent batches in one step.
// It ends the others in reverse, so that requeued items keep their order.
func (s *Service) finishAll(ctx context.Context, ended []*batch) {
	var sent []BatchResult
	for _, b := range ended {
		if b.isFullySent() {
			sent = append(sent, b.result)
		}
	}
	together := len(sent) > 1 && s.finishSent(ctx, ended[0].game, sent)
	for _, b := range slices.Backward(ended) {
		if together && b.isFullySent() {
			s.removeBatch(b, false)
			continue
		}
		s.finish(ctx, b)
	}
}

// finishSent reports whether it ended all the batches. If not, the caller must
// finish each.
func (s *Service) finishSent(ctx context.Context, g *game, sent []BatchResult) bool {
	ctx, cancel := callContext(ctx)
	defer cancel()
	err := s.Queue.FinishSent(ctx, g.Policy, sent)
	if !errors.Is(err, ErrNotInFlight) {
		s.recordError("finish", err)
	}
	return err == nil
}

// finish ends a batch. If the store does not answer, the batch waits and is
// finished later.
func (s *Service) finish(ctx context.Context, b *batch) {
	b.isClosed = true
	b.result.Unused, b.result.Now = b.attempts == 0, s.Now()
	calling, cancel := callContext(ctx)
	defer cancel()
	err := s.Queue.Finish(calling, b.game.Policy, b.result)
	if isLost := errors.Is(err, ErrNotInFlight); isLost || err == nil {
		s.removeBatch(b, isLost)
		return
	}
	s.recordError("finish", err)
	s.scheduleRetry(ctx, b)
}

// removeBatch forgets a batch. The store counts a lost batch.
func (s *Service) removeBatch(b *batch, isLost bool) {
	if isLost {
		s.Logger.Warn("a batch of behaviours was not in flight any more", "game", b.game.Game, "sent", b.result.Sent)
	}
	b.isFinished = true
	if b.isWaiting {
		b.isWaiting = false
		b.game.partition.removeWaiting(b)
		b.game.reporter.addWaiting(-1)
		s.waitingItems.Add(-int64(b.waitingItems))
		signal(b.game.partition.pollNow)
	}
}
