package eventq

import (
	"context"
	"errors"
	"runtime/debug"
	"time"
)

const (
	maxTries  = 8
	barredFor = time.Minute            // no try of a game whose keys or rights are at fault
	goesOver  = 200 * time.Millisecond // a try, from the shared lane to the slow one
)

// try sends what is fresh of a batch. True: it is to be settled; otherwise it
// waits.
func (s *Service) try(ctx context.Context, b *batch, w *worker) (ended bool) {
	now := b.now(s.Now())
	b.dropStale(now)
	if len(b.items) == 0 || ctx.Err() != nil { // at the end, nothing is begun any more
		b.giveBack()
		return true
	}
	b.tries++
	o, took := s.send(ctx, b, now, w)
	barred := b.answer(o)
	b.game.course.tried(len(b.items) == 0 && !barred, took)
	s.heed(ctx, b, o, barred)
	switch {
	case len(b.items) == 0:
	case o.Stop:
		b.giveBack()
	case b.tries >= maxTries:
		b.dropAll(RetriesExhausted)
	default:
		b.tryAt = time.Now().Add(max(backoff(b.tries), o.After))
		s.park(ctx, b)
		return false
	}
	return true
}

// send makes one try, which the end of the service does not cut off.
func (s *Service) send(ctx context.Context, b *batch, now int64, w *worker) (Outcome, time.Duration) {
	sending, cancel := context.WithTimeout(context.WithoutCancel(ctx), TryMS*time.Millisecond)
	defer cancel()
	if w != nil {
		w.begin()
		timer := time.AfterFunc(goesOver, func() { s.goOver(ctx, w) })
		defer timer.Stop()
		defer w.finish()
	}
	s.metrics.tried(b, now)
	began := time.Now()
	o := s.ask(sending, b.game, Batch{ID: b.sendID, Game: b.game.Game, Items: b.items, Now: now})
	took := time.Since(began)
	s.metrics.answered(o, took)
	return o, took
}

// ask asks the sink; one that panics has not sent.
func (s *Service) ask(ctx context.Context, g *game, b Batch) (o Outcome) {
	defer func() {
		if recover() != nil { // what it said may be personal
			s.Logger.Error("a sink panicked", "game", g.Game, "stack", string(debug.Stack()))
			o = Outcome{Code: "panic", Err: errors.New("the sink panicked")}
		}
	}()
	return g.sink.Send(ctx, b)
}

// heed follows an answer: the game cools down, or is paused, and an operator
// sees why.
func (s *Service) heed(ctx context.Context, b *batch, o Outcome, barred bool) {
	cool := o.After
	if barred {
		cool = max(cool, barredFor)
	}
	if cool == 0 && !o.Stop && o.Err == nil && len(b.items) == 0 {
		return
	}
	why, now, until := o.Code, s.Now(), int64(0)
	if o.Err != nil {
		why = o.Err.Error()
	}
	if cool > 0 {
		b.game.course.coolDown(cool)
		until = now + cool.Milliseconds()
	}
	ctx, cancel := call(ctx)
	defer cancel()
	s.note("fault", s.Queue.Fault(ctx, b.game.Game, why, now, until))
	if o.Stop {
		s.Logger.Warn("a game is paused, as the far side wants no more behaviours", "game", b.game.Game, "reason", why)
		s.note("pause", s.Desk.Pause(ctx, b.game.Game, why))
	}
}
