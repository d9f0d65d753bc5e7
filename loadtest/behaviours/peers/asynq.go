package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/hibiken/asynq"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

// timestampBytes is the number of digits of epoch ms at the start of an event.
const timestampBytes = 13

// queue sends events through asynq, at most a window of them at a time.
type queue struct {
	options
	client *asynq.Client
	room   *semaphore.Weighted

	offered, reported atomic.Int64
	measuring         atomic.Bool

	mu    sync.Mutex
	taken *hdrhistogram.Histogram // ms from offered to reported, during the measurement
}

func newQueue(client *asynq.Client, o options) *queue {
	return &queue{options: o, client: client, room: semaphore.NewWeighted(o.window), taken: hdrhistogram.New(1, 300_000, 3)}
}

// produce offers events until ctx ends.
func (q *queue) produce(ctx context.Context) error {
	padding := strings.Repeat("x", max(0, q.bytes-timestampBytes))
	var group errgroup.Group
	for p := range q.producers {
		group.Go(func() error {
			zipf := rand.NewZipf(rand.New(rand.NewPCG(1, uint64(p))), 1.1, 1, uint64(q.games-1)) //nolint:gosec // the choice of games is no secret
			for q.room.Acquire(ctx, 1) == nil {
				q.offered.Add(1)
				game := fmt.Sprintf("com.example.game%06d", zipf.Uint64())
				event := strconv.FormatInt(time.Now().UnixMilli(), 10) + padding
				if _, err := q.client.EnqueueContext(context.WithoutCancel(ctx), asynq.NewTask(game, []byte(event))); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// ProcessTask reports an event.
func (q *queue) ProcessTask(_ context.Context, task *asynq.Task) error {
	at, err := strconv.ParseInt(string(task.Payload()[:timestampBytes]), 10, 64)
	if err != nil {
		return err
	}
	q.reported.Add(1)
	q.room.Release(1)
	if !q.measuring.Load() {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.taken.RecordValue(time.Now().UnixMilli() - at)
}

// drain waits until all offered events are reported, for at most a minute.
func (q *queue) drain() {
	late := time.Now().Add(time.Minute)
	for q.reported.Load() < q.offered.Load() && time.Now().Before(late) {
		time.Sleep(time.Millisecond)
	}
}
