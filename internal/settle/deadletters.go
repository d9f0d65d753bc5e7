package settle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"laststand/internal/match"
	"laststand/internal/taskqueue"
)

// These are the errors for operators of dead letters, beside those of taskqueue.
var (
	ErrStopping   = errors.New("this node is stopping")
	ErrBadPayload = errors.New("the payload is not a result of this task's match")
)

// Requeue tries to settle a dead letter now, in the same way as every result. An operator
// calls it after the cause of the refusal is repaired. It reads missing standings
// again first.
//
// It returns the task afterwards: done, or dead with one more reason. If it is
// done, the service notifies the players once the leaderboards show the result. If
// a store is unreachable, or the error is ErrStopping, nothing has changed.
func (s *Service) Requeue(ctx context.Context, id string) (taskqueue.Task, error) {
	t, err := s.DeadLetters.Task(ctx, id)
	if err != nil || t.State == taskqueue.StateDone {
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

// settleDeadLetter settles the result of a dead letter, and returns it as settled.
func (s *Service) settleDeadLetter(ctx context.Context, t taskqueue.Task) (payload json.RawMessage, err error) {
	result, err := decodeResult(t, t.Payload)
	if err != nil {
		return nil, err
	}
	if result.IsComplete() {
		return t.Payload, s.retryInLoop(ctx, result)
	}
	readCtx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	switch err := s.Pending.CompleteStandings(readCtx, &result); {
	case errors.Is(err, match.ErrNotFound):
		return nil, fmt.Errorf("%w: %w", errIncomplete, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	if payload, err = json.Marshal(result); err != nil {
		return nil, err
	}
	return payload, s.retryInLoop(ctx, result)
}

// errUnreadable says that the standings cannot be read now, but may exist.
var errUnreadable = errors.New("the standings cannot be read now")

// isTransient reports whether a requeue failed for a reason that does not count as
// an attempt.
func (s *Service) isTransient(err error) bool {
	return errors.Is(err, ErrStopping) || errors.Is(err, errUnreadable) || s.IsUnavailable(err)
}

// CheckPayload returns ErrBadPayload, unless the payload is a whole result of the same
// match.
func (s *Service) CheckPayload(t *taskqueue.Task, payload json.RawMessage) error {
	result, err := decodeResult(*t, payload)
	if err == nil && !result.IsComplete() {
		err = fmt.Errorf("%w: its standings are missing", ErrBadPayload)
	}
	return err
}

func decodeResult(t taskqueue.Task, payload json.RawMessage) (result match.Result, err error) {
	if err := json.Unmarshal(payload, &result); err != nil {
		return result, fmt.Errorf("%w: %w", ErrBadPayload, err)
	}
	if result.Undecodable != "" {
		return result, fmt.Errorf("%w: %w", ErrBadPayload, errUndecodable)
	}
	if result.Match != t.Key || result.Game == "" || t.Game != "" && result.Game != t.Game {
		return result, fmt.Errorf("%w: it must be of match %s and game %s", ErrBadPayload, t.Key, t.Game)
	}
	return result, nil
}

// retryInLoop passes a result to the loop, which commits it, and returns the
// ledger's error.
func (s *Service) retryInLoop(ctx context.Context, result match.Result) error {
	done := make(chan error, 1)
	select {
	case s.retries <- func(workCtx context.Context) { done <- s.commitDeadLetter(workCtx, result) }:
	case <-s.stopped:
		return ErrStopping
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// commitDeadLetter commits a result that is no longer pending. It notifies the
// players even if the ledger already has the result: a node that requeued it
// before may have died before it notified them.
func (s *Service) commitDeadLetter(workCtx context.Context, r match.Result) error {
	committed, err := s.commitOnce(workCtx, []match.Result{r})
	if err != nil {
		return err
	}
	if settled := applyCommitted([]match.Result{r}, committed)[0]; settled.CountsForLeaderboards {
		s.notify(workCtx, settled)
	}
	return nil
}
