package ops

import (
	"context"
	"errors"
	"time"

	"laststand/internal/eventq"
)

// testTime is cluster time in tests, epoch ms.
const testTime = int64(1795212345678)

// fakeQueue is one game's queue. While it is drained, it sends sentPerSecond items a second.
type fakeQueue struct {
	eventq.Status
	items         []eventq.Item
	sentPerSecond int64 // items sent per second of a drain
	drainCalled   bool  // a drain was started
	pausesOnDrain bool  // a drain pauses the queue, because the receiver accepts no more
}

func newQueues() map[string]*fakeQueue {
	q := &fakeQueue{items: []eventq.Item{
		{ID: "b_1", Unique: true, At: testTime - 900, QueuedAt: testTime - 800, Body: []byte(`{"id":"b_1","type":"online"}`)},
		{ID: "b_2", At: testTime - 600, QueuedAt: testTime - 500, Body: []byte(`{"id":"b_2","type":"offline"}`)},
	}}
	q.Status = eventq.Status{
		Game: "demo", OldestAt: testTime - 800, DueAt: testTime + 200, Error: "connection refused", ErrorAt: testTime - 5000,
		Counts: eventq.Counts{Offered: 10, Sent: 5, Dropped: map[eventq.Reason]int64{eventq.TooOld: 3}, Queued: 2},
	}
	return map[string]*fakeQueue{"demo": q}
}

func (backend *fakeBackend) sendQueued(ctx context.Context, game string) error {
	q := backend.queues[game]
	q.drainCalled = true
	if q.pausesOnDrain {
		q.Paused = "410 of the receiver"
		return eventq.ErrPaused
	}
	for q.Counts.Queued+q.Counts.InFlight > 0 && backend.fail == nil {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
		sent := min(q.sentPerSecond, q.Counts.Queued)
		q.Counts.Queued, q.Counts.Sent = q.Counts.Queued-sent, q.Counts.Sent+sent
	}
	return backend.fail
}

// fakeQueues implements eventq.Admin with the queues of a fakeBackend.
type fakeQueues struct{ *fakeBackend }

func (f fakeQueues) Status(_ context.Context, games []string, _ int64) ([]eventq.Status, error) {
	all := make([]eventq.Status, len(games))
	for i, game := range games {
		q, ok := f.queues[game]
		if !ok { // nothing was ever offered
			q = &fakeQueue{Status: eventq.Status{Game: game}}
		}
		all[i] = q.Status
	}
	return all, f.fail
}

func (f fakeQueues) Peek(_ context.Context, game string, limit int) ([]eventq.Item, error) {
	items := f.queues[game].items
	return items[:min(limit, len(items))], f.fail
}

func (f fakeQueues) Pause(_ context.Context, game, reason string) error {
	f.queues[game].Paused = reason
	return f.fail
}

func (f fakeQueues) Resume(_ context.Context, game string, now int64) error {
	q := f.queues[game]
	q.Paused, q.DueAt = "", now
	return f.fail
}

func (f fakeQueues) SetMaxLen(_ context.Context, game string, maxLen int) error {
	f.queues[game].MaxLen = maxLen
	return f.fail
}

func (f fakeQueues) FlushNow(context.Context, string, int64) error {
	return errors.New("not used: SendQueued flushes")
}

func (f fakeQueues) Discard(_ context.Context, game string, reason eventq.Reason) (int64, error) {
	q := f.queues[game]
	dropped := q.Counts.Queued
	q.Counts.Queued = 0
	if dropped > 0 {
		q.Counts.Dropped[reason] += dropped
	}
	return dropped, f.fail
}
