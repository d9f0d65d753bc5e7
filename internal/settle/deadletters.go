package settle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"laststand/internal/match"
	"laststand/internal/taskqueue"
)

// What an operator is told who deals with dead letters, beside the errors of
// taskqueue.
var (
	ErrStopping   = errors.New("this node is stopping")
	ErrBadPayload = errors.New("the payload is no result of this task")
)

// retry is a dead letter's result on its way to the loop, which always answers.
type retryRequest struct {
	result match.Result
	done   chan error
}

// Requeue tries a dead letter now, the way that every result goes, as an
// operator asks who has mended it or what the ledger refused it for. The
// standings of one that died without them are read again first. It gives
// the task as it is then: done, with the players told once the boards show it,
// or dead for one more reason. Of a store out of reach, or with ErrStopped,
// nothing has changed.
func (s *Settler) Requeue(ctx context.Context, id string) (taskqueue.Task, error) {
	t, err := s.DeadLetters.Task(ctx, id)
	if err != nil || t.State == taskqueue.Done {
		return t, err
	}
	payload, cause := s.settleDeadLetter(ctx, t)
	if cause != nil && s.isTransient(cause) {
		return taskqueue.Task{}, cause
	}
	return s.DeadLetters.ChangeTask(ctx, id, func(now *taskqueue.Task) error {
		if cause != nil {
			return now.Fail(s.Now(), cause)
		}
		now.Finish(payload)
		return nil
	})
}

// requeue settles the result of a dead letter, and gives it as it was settled.
func (s *Settler) settleDeadLetter(ctx context.Context, t taskqueue.Task) (payload json.RawMessage, err error) {
	r, err := resultOf(t, t.Payload)
	if err != nil {
		return nil, err
	}
	payload = t.Payload
	if !r.IsComplete() {
		if err := s.loadStandings(ctx, &r); err != nil {
			return nil, err
		}
		if payload, err = json.Marshal(r); err != nil {
			return nil, err
		}
	}
	return payload, s.retryInLoop(ctx, r)
}

// errUnread is about standings that could not be read now, and may be there.
var errUnreadable = errors.New("the standings cannot be read now")

func (s *Settler) loadStandings(ctx context.Context, r *match.Result) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := s.Pending.Complete(ctx, r)
	switch {
	case errors.Is(err, match.ErrNotFound):
		return fmt.Errorf("%w: %w", errIncomplete, err)
	case err != nil:
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return nil
}

// passes says whether a requeue failed for a reason that is no try of the result.
func (s *Settler) isTransient(err error) bool {
	return errors.Is(err, ErrStopping) || errors.Is(err, errUnreadable) || s.isUnavailable(err)
}

// Edit gives a dead letter another payload: a whole result of the same match.
// ErrBadPayload.
func (s *Settler) Edit(ctx context.Context, id string, payload json.RawMessage) (taskqueue.Task, error) {
	return s.DeadLetters.ChangeTask(ctx, id, func(t *taskqueue.Task) error {
		r, err := resultOf(*t, payload)
		if err != nil {
			return err
		}
		if !r.IsComplete() {
			return fmt.Errorf("%w: its standings are missing", ErrBadPayload)
		}
		return t.Edit(payload)
	})
}

// Discard gives a dead letter up.
func (s *Settler) Discard(ctx context.Context, id string) (taskqueue.Task, error) {
	return s.DeadLetters.ChangeTask(ctx, id, (*taskqueue.Task).Discard)
}

// resultOf reads a payload of a task.
func resultOf(t taskqueue.Task, payload json.RawMessage) (r match.Result, err error) {
	if err := json.Unmarshal(payload, &r); err != nil {
		return r, fmt.Errorf("%w: %w", ErrBadPayload, err)
	}
	if r.Match != t.Key || r.Game != t.Game {
		return r, fmt.Errorf("%w: it must be of match %s and game %s", ErrBadPayload, t.Key, t.Game)
	}
	return r, nil
}

// retry has the loop settle a result, and gives the ledger's answer.
func (s *Settler) retryInLoop(ctx context.Context, r match.Result) error {
	request := retryRequest{r, make(chan error, 1)}
	select {
	case s.retries <- request:
	case <-s.ended:
		return ErrStopping
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-request.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// settleDead commits a result that is not pending any more. Its players are
// told also where the ledger has it already: who requeued it before may have
// died before they were.
func (s *Settler) commitDeadLetter(work context.Context, r match.Result) error {
	done, err := s.commitOnce(work, []match.Result{r})
	s.logOutage(err)
	if err == nil {
		for _, result := range resultsToNotify([]match.Result{r}, done, true) {
			s.enqueueForLeaderboards(work, result)
		}
	}
	return err
}
