package taskqueue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

var errUnreachable = errors.New("the store is unreachable")

// memoryQueue is a store in memory with one queue. Tests can make it unreachable.
type memoryQueue struct {
	mu            sync.Mutex
	tasks         []*Task
	isUnreachable bool
	calls         map[string]int
	commitSizes   []int // number of tasks of each commit
	notifier      *Notifier

	backlogs       []Backlog
	releaseCommits chan struct{} // commits wait until it is closed; nil: they do not
}

func newMemoryQueue(n int) *memoryQueue {
	store := &memoryQueue{calls: map[string]int{}}
	for i := range n {
		store.tasks = append(store.tasks, &Task{ID: fmt.Sprint(i), Topic: "work/a", Key: fmt.Sprint(i), State: StateWaiting, MaxTries: 3})
	}
	return store
}

// lockForCall locks the store and counts the call. It returns an error while the store is
// unreachable; the caller must unlock it in any case.
func (s *memoryQueue) lockForCall(operation string) (unlock func(), err error) {
	s.mu.Lock()
	s.calls[operation]++
	if s.isUnreachable {
		err = errUnreachable
	}
	return s.mu.Unlock, err
}

func (s *memoryQueue) Claim(_ context.Context, _ string, n int, lease time.Duration) (claimed []Task, err error) {
	unlock, err := s.lockForCall("claim")
	defer unlock()
	for _, task := range s.tasks {
		if err == nil && task.State == StateWaiting && len(claimed) < n {
			task.State, task.Fence, task.DueAt = StateClaimed, task.Fence+1, time.Now().Add(lease).UnixMilli()
			claimed = append(claimed, *task)
		}
	}
	return claimed, err
}

// changeLeased changes the tasks of the valid leases, and returns the invalid leases as lost.
func (s *memoryQueue) changeLeased(operation string, leases []Lease, change func(i int, task *Task)) (lost []Lease, err error) {
	unlock, err := s.lockForCall(operation)
	defer unlock()
	if err != nil {
		return nil, err
	}
	for i, lease := range leases {
		index := slices.IndexFunc(s.tasks, func(task *Task) bool { return task.State == StateClaimed && task.Lease() == lease })
		if index < 0 {
			lost = append(lost, lease)
			continue
		}
		change(i, s.tasks[index])
	}
	return lost, nil
}

func (s *memoryQueue) Renew(_ context.Context, leases []Lease, lease time.Duration) ([]Lease, error) {
	return s.changeLeased("renew", leases, func(_ int, task *Task) { task.DueAt = time.Now().Add(lease).UnixMilli() })
}

func (s *memoryQueue) Complete(_ context.Context, leases []Lease) ([]Lease, error) {
	return s.changeLeased("complete", leases, func(_ int, task *Task) { task.Finish(task.Payload) })
}

func (s *memoryQueue) Fail(_ context.Context, failed []FailedAttempt) ([]Lease, error) {
	var leases []Lease
	for _, attempt := range failed {
		leases = append(leases, attempt.Lease)
	}
	return s.changeLeased("fail", leases, func(i int, task *Task) {
		task.RecordFailure(time.Now().UnixMilli(), &failed[i])
	})
}

func (s *memoryQueue) Enqueue(_ context.Context, tasks []NewTask) (accepted []Accepted, err error) {
	if s.releaseCommits != nil {
		<-s.releaseCommits
	}
	unlock, err := s.lockForCall("enqueue")
	defer unlock()
	s.commitSizes = append(s.commitSizes, len(tasks))
	for _, task := range tasks {
		accepted = append(accepted, Accepted{ID: task.Key, New: true})
	}
	return accepted, err
}

func (s *memoryQueue) ReturnDue(_ context.Context, n int) (counts DueCounts, err error) {
	unlock, err := s.lockForCall("due")
	defer unlock()
	for _, task := range s.tasks {
		if err == nil && task.DueAt > 0 && task.DueAt <= time.Now().UnixMilli() && counts.Requeued+counts.Dead < n {
			task.HandleDue(time.Now().UnixMilli())
			counts.Count(task)
			s.notifier.Notify(task.Topic)
		}
	}
	return counts, err
}

func (s *memoryQueue) ForgetTasks(context.Context, int) (int, error) {
	unlock, err := s.lockForCall("forget")
	defer unlock()
	return 0, err
}

func (s *memoryQueue) Depth(_ context.Context, state State, _ int) (count int64, oldest time.Duration, err error) {
	unlock, err := s.lockForCall("depth")
	defer unlock()
	return s.countLocked(state), time.Minute, err
}

func (s *memoryQueue) Backlogs(_ context.Context, kinds, _ int) ([]Backlog, error) {
	unlock, err := s.lockForCall("backlogs")
	defer unlock()
	return s.backlogs[:min(kinds, len(s.backlogs))], err
}

func (s *memoryQueue) countLocked(state State) (count int64) {
	for _, task := range s.tasks {
		if task.State == state {
			count++
		}
	}
	return count
}

func (s *memoryQueue) count(state State) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.countLocked(state)
}

func (s *memoryQueue) setUnreachable(isUnreachable bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isUnreachable = isUnreachable
}

// callCount returns how often a method was called.
func (s *memoryQueue) callCount(operation string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[operation]
}

// takeCallCount returns the number of calls since its last call.
func (s *memoryQueue) takeCallCount() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for operation := range s.calls {
		n += s.calls[operation]
	}
	clear(s.calls)
	return n
}
