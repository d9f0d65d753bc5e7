package taskqueue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

var errAway = errors.New("the store is away")

// store is a store in memory with one queue. Tests can make it unreachable.
type store struct {
	mu       sync.Mutex
	tasks    []*Task
	away     bool
	calls    map[string]int
	seen     []int // tasks of each commit
	notifier *Notifier

	backlogs []Backlog
	hold     chan struct{} // commits wait until it is closed; nil: they do not
}

func newStore(n int) *store {
	s := &store{calls: map[string]int{}}
	for i := range n {
		s.tasks = append(s.tasks, &Task{ID: fmt.Sprint(i), Topic: "work/a", Key: fmt.Sprint(i), State: Waiting, MaxTries: 3})
	}
	return s
}

// called locks the store for a call.
func (s *store) called(operation string) (unlock func(), err error) {
	s.mu.Lock()
	s.calls[operation]++
	if s.away {
		err = errAway
	}
	return s.mu.Unlock, err
}

func (s *store) Claim(_ context.Context, _ string, n int, lease time.Duration) (claimed []Task, err error) {
	unlock, err := s.called("claim")
	defer unlock()
	for _, t := range s.tasks {
		if err == nil && t.State == Waiting && len(claimed) < n {
			t.State, t.Fence, t.DueAt = Claimed, t.Fence+1, time.Now().Add(lease).UnixMilli()
			claimed = append(claimed, *t)
		}
	}
	return claimed, err
}

// each changes the tasks whose lease is valid.
func (s *store) each(operation string, leases []Lease, do func(i int, t *Task)) (lost []Lease, err error) {
	unlock, err := s.called(operation)
	defer unlock()
	if err != nil {
		return nil, err
	}
	for i, lease := range leases {
		at := slices.IndexFunc(s.tasks, func(t *Task) bool { return t.State == Claimed && t.Lease() == lease })
		if at < 0 {
			lost = append(lost, lease)
			continue
		}
		do(i, s.tasks[at])
	}
	s.notifier.Notify("")
	return lost, nil
}

func (s *store) Renew(_ context.Context, leases []Lease, lease time.Duration) ([]Lease, error) {
	return s.each("renew", leases, func(_ int, t *Task) { t.DueAt = time.Now().Add(lease).UnixMilli() })
}

func (s *store) Complete(_ context.Context, leases []Lease) ([]Lease, error) {
	return s.each("complete", leases, func(_ int, t *Task) { t.Finish(t.Payload) })
}

func (s *store) Fail(_ context.Context, failed []FailedAttempt) ([]Lease, error) {
	return s.each("fail", leasesOf(failed), func(i int, t *Task) {
		_ = t.RecordFailure(time.Now().UnixMilli(), &failed[i])
	})
}

func (s *store) Return(_ context.Context, leases []Lease) ([]Lease, error) {
	return s.each("return", leases, func(_ int, t *Task) { t.Return() })
}

func (s *store) Enqueue(_ context.Context, tasks []NewTask) (accepted []Accepted, err error) {
	if s.hold != nil {
		<-s.hold
	}
	unlock, err := s.called("enqueue")
	defer unlock()
	s.seen = append(s.seen, len(tasks))
	for _, n := range tasks {
		accepted = append(accepted, Accepted{ID: n.Key, New: true})
	}
	return accepted, err
}

func (s *store) ReturnDue(_ context.Context, n int) (r Returned, err error) {
	unlock, err := s.called("due")
	defer unlock()
	for _, t := range s.tasks {
		if err == nil && t.DueAt > 0 && t.DueAt <= time.Now().UnixMilli() && r.Back+r.Dead < n {
			t.HandleDue(time.Now().UnixMilli())
			r.Note(t)
			s.notifier.Notify(t.Topic)
		}
	}
	return r, err
}

func (s *store) NextDue(context.Context) (wait time.Duration, ok bool, err error) {
	unlock, err := s.called("next")
	defer unlock()
	var next int64
	for _, t := range s.tasks {
		if t.DueAt > 0 {
			next = min(cmp.Or(next, t.DueAt), t.DueAt)
		}
	}
	return time.Until(time.UnixMilli(next)), next > 0, err
}

func (s *store) MoveDone(_ context.Context, after QueueID, _ int) (last QueueID, seen, moved int, err error) {
	unlock, err := s.called("done")
	defer unlock()
	return after, 0, 0, err
}

func (s *store) ForgetTasks(context.Context, int) (int, error) {
	unlock, err := s.called("forget")
	defer unlock()
	return 0, err
}

func (s *store) Depth(_ context.Context, state State, _ int) (count int64, oldest time.Duration, err error) {
	unlock, err := s.called("depth")
	defer unlock()
	return s.counted(state), time.Minute, err
}

func (s *store) Backlogs(_ context.Context, kinds, _ int) ([]Backlog, error) {
	unlock, err := s.called("backlogs")
	defer unlock()
	return s.backlogs[:min(kinds, len(s.backlogs))], err
}

func (s *store) counted(state State) (count int64) {
	for _, t := range s.tasks {
		if t.State == state {
			count++
		}
	}
	return count
}

func (s *store) count(state State) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counted(state)
}

func (s *store) leave(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
}

// asked returns how often a method was called.
func (s *store) asked(operation string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[operation]
}

// queries returns the calls since the last call of queries.
func (s *store) queries() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for operation := range s.calls {
		n += s.calls[operation]
	}
	clear(s.calls)
	return n
}
