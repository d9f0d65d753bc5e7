package eventq

import (
	"context"
	"sync"
)

// workerPool is a bounded number of workers. They serve waiting games in turn
// and retry batches. Workers exist only while there is work.
type workerPool struct {
	name  string
	limit int // of workers

	mu      sync.Mutex
	queue   []job
	workers int // above the limit while workers of the shared pool are here
}

// job is a game to take from, or a batch to retry.
type job struct {
	game  *game
	batch *batch // nil: take from the game
}

// maxSlowWorkers bounds the workers of the slow pool, with those that moved
// there.
const maxSlowWorkers = 512

// worker works in a pool. A worker of the shared pool moves to the slow pool
// during a slow attempt.
type worker struct {
	mu        sync.Mutex
	pool      *workerPool
	isSending bool
}

// enqueue appends a job to the queue of a pool. Only running goroutines of the
// service may call it.
func (s *Service) enqueue(ctx context.Context, l *workerPool, e job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = append(l.queue, e)
	s.startWorker(ctx, l)
}

// startWorker starts a worker if there is work for one. The caller holds the
// lock of the pool.
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

// next returns the next job, or false to end the worker.
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

// name returns the name of the pool. A nil worker is a dedicated reporter.
func (w *worker) name() string {
	if w == nil {
		return dedicatedPool
	}
	return w.pool.name
}

// startSend and endSend enclose an attempt. A worker moves only between them.
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

// moveToSlowPool moves a worker of the shared pool to the slow pool during an
// attempt, so that another worker takes its place.
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

// reserveWorker makes room for a worker that moves here.
func (l *workerPool) reserveWorker() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.workers >= maxSlowWorkers {
		return false
	}
	l.workers++
	return true
}
