package eventq

import (
	"context"
	"errors"
	"slices"
)

// settleAll ends batches of a take: those that were sent whole in one step, the
// others the last first, so that what goes back is in its order.
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

// settleSent says whether it has ended them all; if not, each is to be settled.
func (s *Service) finishSent(ctx context.Context, g *game, sent []BatchResult) bool {
	ctx, cancel := callContext(ctx)
	defer cancel()
	err := s.Queue.FinishSent(ctx, g.Policy, sent)
	if !errors.Is(err, ErrNotInFlight) {
		s.recordError("finish", err)
	}
	return err == nil
}

// settle ends a batch. Until the store has answered, it waits and is settled again.
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

// end forgets a batch; one that is gone is counted as lost by the store.
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
