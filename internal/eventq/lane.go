package eventq

import (
	"context"
	"sync"
)

// A lane is a bounded number of workers for games that wait in turn, and for
// batches that are to be retried. It has workers only while there is work.
type lane struct {
	name  string
	bound int // of the workers

	mu      sync.Mutex
	queue   []errand
	workers int // more than the bound while some have come over from the shared lane
}

// An errand is a game to take from, or a batch of it to retry.
type errand struct {
	game  *game
	batch *batch // nil: take from the game
}

// lendable bounds the workers of the slow lane together with those that come over.
const lendable = 512

// A worker works in a lane: the shared one's go over to the slow one when a try
// takes long.
type worker struct {
	mu     sync.Mutex
	lane   *lane
	trying bool
}

// enter puts an errand at the end of a lane's queue. Only what runs already may
// call it.
func (s *Service) enter(ctx context.Context, l *lane, e errand) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = append(l.queue, e)
	s.staff(ctx, l)
}

// staff starts a worker where there is work for one; the lane is locked.
func (s *Service) staff(ctx context.Context, l *lane) {
	if len(l.queue) > 0 && l.workers < l.bound {
		l.workers++
		s.running.Go(func() { s.work(ctx, &worker{lane: l}) })
	}
}

func (s *Service) work(ctx context.Context, w *worker) {
	for {
		e, ok := w.lane.next()
		switch {
		case !ok:
			return
		case e.batch != nil:
			s.retry(ctx, e.batch)
		default:
			s.visit(ctx, w, e.game)
		}
	}
}

// next is the next errand; false ends the worker.
func (l *lane) next() (errand, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 || l.workers > l.bound {
		l.workers--
		return errand{}, false
	}
	e := l.queue[0]
	l.queue[0] = errand{}
	l.queue = l.queue[1:]
	return e, true
}

// name is the lane's, to be shown; a nil worker is a reporter of a game's own.
func (w *worker) name() string {
	if w == nil {
		return ownLane
	}
	return w.lane.name
}

// begin and finish enclose a try: only in between a worker may go over.
func (w *worker) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trying = true
}

func (w *worker) finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trying = false
}

// goOver moves a worker of the shared lane, in the midst of a try, to the slow
// lane, so that another takes its place.
func (s *Service) goOver(ctx context.Context, w *worker) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.trying || w.lane != s.shared || !s.slow.lend() {
		return
	}
	w.lane = s.slow
	s.shared.mu.Lock()
	defer s.shared.mu.Unlock()
	s.shared.workers--
	s.staff(ctx, s.shared)
}

// lend makes room for a worker that comes over.
func (l *lane) lend() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.workers >= lendable {
		return false
	}
	l.workers++
	return true
}
