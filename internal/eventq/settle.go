package eventq

import (
	"context"
	"errors"
	"slices"
)

// settleAll ends batches of a take: those that were sent whole in one step, the
// others the last first, so that what goes back is in its order.
func (s *Service) settleAll(ctx context.Context, ended []*batch) {
	var sent []Settlement
	for _, b := range ended {
		if b.sentWhole() {
			sent = append(sent, b.settlement)
		}
	}
	together := len(sent) > 1 && s.settleSent(ctx, ended[0].game, sent)
	for _, b := range slices.Backward(ended) {
		if together && b.sentWhole() {
			s.end(b, false)
			continue
		}
		s.settle(ctx, b)
	}
}

// settleSent says whether it has ended them all; if not, each is to be settled.
func (s *Service) settleSent(ctx context.Context, g *game, sent []Settlement) bool {
	ctx, cancel := call(ctx)
	defer cancel()
	err := s.Queue.SettleSent(ctx, g.Terms, sent)
	if !errors.Is(err, ErrGone) {
		s.note("settle", err)
	}
	return err == nil
}

// settle ends a batch. Until the store has answered, it waits and is settled again.
func (s *Service) settle(ctx context.Context, b *batch) {
	b.closed = true
	b.settlement.Unused, b.settlement.Now = b.tries == 0, s.Now()
	calling, cancel := call(ctx)
	defer cancel()
	err := s.Queue.Settle(calling, b.game.Terms, b.settlement)
	if gone := errors.Is(err, ErrGone); gone || err == nil {
		s.end(b, gone)
		return
	}
	s.note("settle", err)
	s.park(ctx, b)
}

// end forgets a batch; one that is gone is counted as lost by the store.
func (s *Service) end(b *batch, gone bool) {
	if gone {
		s.Logger.Warn("a batch of behaviours was not in flight any more", "game", b.game.Game, "sent", b.settlement.Sent)
	}
	b.over = true
	if b.waits {
		b.waits = false
		b.game.partition.removeWaiting(b)
		b.game.course.setAside(-1)
		s.parked.Add(-int64(b.weight))
		signal(b.game.partition.nudge)
	}
}
