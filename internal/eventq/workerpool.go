package eventq

import (
	"context"
	"sync"
)

// A lane is a bounded number of workers for games that wait in turn, and for
// batches that are to be retried. It has workers only while there is work.
type workerPool struct {
	name  string
	limit int // of the workers

	mu      sync.Mutex
	queue   []job
	workers int // more than the bound while some have come over from the shared lane
}

// An errand is a game to take from, or a batch of it to retry.
type job struct {
	game  *game
	batch *batch // nil: take from the game
}

// lendable bounds the workers of the slow lane together with those that come over.
const maxSlowWorkers = 512

// A worker works in a lane: the shared one's go over to the slow one when a try
// takes long.
type worker struct {
	mu        sync.Mutex
	pool      *workerPool
	isSending bool
}

// enter puts an errand at the end of a lane's queue. Only what runs already may
// call it.
func (s *Service) enqueue(ctx context.Context, l *workerPool, e job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = append(l.queue, e)
	s.startWorker(ctx, l)
}

// staff starts a worker where there is work for one; the lane is locked.
func (s *Service) startWorker(ctx context.Context, l *workerPool) {
	if len(l.queue) > 0 && l.workers < l.limit {
		l.workers++
		s.running.Go(func() { s.work(ctx, &worker{pool: l}) })
	}
}

func (s *Service) work(ctx context.Context, w *worker) {
	for {
		e, ok := w.pool.next()
		switch {
		case !ok:
			return
		case e.batch != nil:
			s.retryBatch(ctx, e.batch)
		default:
			s.serveGame(ctx, w, e.game)
		}
	}
}

// next is the next errand; false ends the worker.
func (l *workerPool) next() (job, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 || l.workers > l.limit {
		l.workers--
		return job{}, false
	}
	e := l.queue[0]
	l.queue[0] = job{}
	l.queue = l.queue[1:]
	return e, true
}

// name is the lane's, to be shown; a nil worker is a reporter of a game's own.
func (w *worker) name() string {
	if w == nil {
		return dedicatedPool
	}
	return w.pool.name
}

// begin and finish enclose a try: only in between a worker may go over.
func (w *worker) startSend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isSending = true
}

func (w *worker) endSend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isSending = false
}

// goOver moves a worker of the shared lane, in the midst of a try, to the slow
// lane, so that another takes its place.
func (s *Service) moveToSlowPool(ctx context.Context, w *worker) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.isSending || w.pool != s.shared || !s.slow.reserveWorker() {
		return
	}
	w.pool = s.slow
	s.shared.mu.Lock()
	defer s.shared.mu.Unlock()
	s.shared.workers--
	s.startWorker(ctx, s.shared)
}

// lend makes room for a worker that comes over.
func (l *workerPool) reserveWorker() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.workers >= maxSlowWorkers {
		return false
	}
	l.workers++
	return true
}
