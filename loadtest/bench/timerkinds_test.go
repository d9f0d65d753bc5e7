package bench_test

import (
	"container/heap"
	"sync"
	"sync/atomic"
	"time"

	"laststand/internal/timer"
)

// A pendant is a pending timer of any kind.
type pendant interface{ Stop() bool }

// after adds a timer.
type after func(d time.Duration, f func()) pendant

// kinds returns for each name a function that starts that kind of timer.
var kinds = map[string]func() after{
	"wheel": func() after {
		w := timer.New(timer.Config{})
		return func(d time.Duration, f func()) pendant { return w.After(d, f) }
	},
	"time.AfterFunc": func() after {
		return func(d time.Duration, f func()) pendant { return time.AfterFunc(d, f) }
	},
	"heap": func() after { return startHeap().after },
}

// order is the order in the table. The benchmark compares ours with the second kind.
var order = []string{"wheel", "time.AfterFunc", "heap"}

// A queue is a heap of timers. One goroutine waits for the first timer and calls it. A
// stopped timer stays in the heap until it is due.
type queue struct {
	start time.Time
	wake  chan struct{}

	mu    sync.Mutex
	items items
}

type item struct {
	when    time.Duration
	f       func()
	stopped atomic.Bool
}

func (i *item) Stop() bool { return i.stopped.CompareAndSwap(false, true) }

func startHeap() *queue {
	q := &queue{start: time.Now(), wake: make(chan struct{}, 1)}
	go q.run() // ends with the process
	return q
}

func (q *queue) after(d time.Duration, f func()) pendant {
	i := &item{when: time.Since(q.start) + d, f: f}
	q.mu.Lock()
	heap.Push(&q.items, i)
	first := q.items[0] == i
	q.mu.Unlock()
	if first {
		select {
		case q.wake <- struct{}{}:
		default:
		}
	}
	return i
}

func (q *queue) run() {
	sleep := time.NewTimer(time.Hour)
	for {
		due, wait := q.next()
		if due != nil {
			if due.Stop() {
				due.f()
			}
			continue
		}
		sleep.Reset(wait)
		select {
		case <-sleep.C:
		case <-q.wake:
		}
	}
}

func (q *queue) next() (due *item, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) == 0 {
		return nil, time.Hour
	}
	if wait = q.items[0].when - time.Since(q.start); wait > 0 {
		return nil, wait
	}
	return heap.Pop(&q.items).(*item), 0
}

type items []*item

func (h items) Len() int           { return len(h) }
func (h items) Less(i, j int) bool { return h[i].when < h[j].when }
func (h items) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *items) Push(x any)        { *h = append(*h, x.(*item)) }
func (h *items) Pop() any {
	last := len(*h) - 1
	i := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return i
}
