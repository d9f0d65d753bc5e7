package taskqueue

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/testenv"
)

// hangingStore is a store in which one call hangs until its context ends.
type hangingStore struct {
	*memoryQueue
	hangingCall string // the call that hangs at its next use; "": none
}

func (s *hangingStore) hangOnce(ctx context.Context, call string) error {
	if s.hangingCall != call {
		return nil
	}
	s.hangingCall = ""
	<-ctx.Done()
	return ctx.Err()
}

func (s *hangingStore) ReturnDue(ctx context.Context, n int) (DueCounts, error) {
	if err := s.hangOnce(ctx, "due"); err != nil {
		return DueCounts{}, err
	}
	return s.memoryQueue.ReturnDue(ctx, n)
}

func (s *hangingStore) Depth(ctx context.Context, state State, n int) (int64, time.Duration, error) {
	if err := s.hangOnce(ctx, "depth"); err != nil {
		return 0, 0, err
	}
	return s.memoryQueue.Depth(ctx, state, n)
}

// A hanging call of the store does not stop the maintainer.
func TestMaintainerContinuesAfterAHangingCall(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"due", "depth"} {
		synctest.Test(t, func(t *testing.T) {
			store := &hangingStore{newMemoryQueue(1), call}
			store.notifier = NewNotifier(nil)
			task := store.tasks[0]
			task.Postpone(time.Now().UnixMilli(), time.Minute)
			maintainer := NewMaintainer(MaintainerConfig{Store: store, Logger: slog.New(slog.DiscardHandler)})
			testenv.Run(t, maintainer.Run)
			time.Sleep(2 * time.Minute)
			if store.count(StateWaiting) != 1 {
				t.Errorf("after the call %s hung, the due task is %s", call, task.State)
			}
		})
	}
}
