package playerevents

import (
	"context"
	"slices"
	"sync"
	"time"

	"laststand/internal/timer"
)

const (
	// maxPending bounds the waiting changes. Ends are accepted beyond it, because
	// the start of each was accepted before.
	maxPending = 100_000
	// batchSize is how many sessions one call of the SessionStore takes.
	batchSize = 400
	// storeTimeout bounds one call of the SessionStore. closeTimeout bounds all
	// calls at the end.
	storeTimeout = 2 * time.Second
	closeTimeout = 3 * time.Second
	// storeRetryDelay is the pause before the service repeats a failed call.
	storeRetryDelay = 500 * time.Millisecond
)

// change is the start or the end of a session.
type change struct {
	SessionRecord
	isEnd bool
}

// syncQueue is the bounded queue of changes on their way to the SessionStore.
type syncQueue struct {
	wake chan struct{} // holds a signal while changes wait that the receiver does not know

	mu      sync.Mutex
	changes []change
}

// add reports whether there was room.
func (q *syncQueue) add(c change) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.changes) >= maxPending && !c.isEnd {
		return false
	}
	q.changes = append(q.changes, c)
	timer.Wake(q.wake)
	return true
}

// peek returns the oldest changes, at most a batch. They stay queued until they
// are dropped.
func (q *syncQueue) peek() []change {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.changes[:min(len(q.changes), batchSize)])
}

func (q *syncQueue) drop(count int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	clear(q.changes[:count]) // lets the garbage collector free them
	q.changes = q.changes[count:]
}

// runSync writes the changes to the SessionStore until ctx ends.
func (s *Service) runSync(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.queue.wake:
		}
		for ctx.Err() == nil {
			more, err := s.syncBatch(ctx)
			if err != nil {
				s.recordError("the visits here could not be noted; trying again", err)
				timer.Sleep(ctx, storeRetryDelay)
			} else if !more {
				break
			}
		}
	}
}

// syncRest writes the changes that are left. If it fails, other nodes report the
// end of these sessions again, with the same ids.
func (s *Service) syncRest() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	for more := true; more; {
		var err error
		if more, err = s.syncBatch(ctx); err != nil {
			s.recordError("ends of visits could not be noted; another node reports them again", err)
			return
		}
	}
}

// syncBatch writes the oldest changes, and reports whether there were any. A session
// may have started and ended.
func (s *Service) syncBatch(ctx context.Context) (some bool, err error) {
	changes := s.queue.peek()
	if len(changes) == 0 {
		return false, nil
	}
	var started, ended []SessionRecord
	for _, c := range changes {
		if c.isEnd {
			ended = append(ended, c.SessionRecord)
		} else {
			started = append(started, c.SessionRecord)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if err := s.Sessions.Sync(ctx, s.Node, started, ended); err != nil {
		return false, err
	}
	s.queue.drop(len(changes))
	return true, nil
}
