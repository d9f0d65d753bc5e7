package taskqueue

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
)

// memoryStore stores one task.
type memoryStore struct{ task Task }

func (s *memoryStore) Task(_ context.Context, id string) (Task, error) {
	if id != s.task.ID {
		return Task{}, ErrNotFound
	}
	return s.task, nil
}

func (s *memoryStore) ChangeTask(ctx context.Context, id string, change func(*Task) error) (Task, error) {
	task, err := s.Task(ctx, id)
	if err == nil {
		err = change(&task)
	}
	if err != nil {
		return Task{}, err
	}
	s.task = task
	return task, nil
}

var errSpecial = errors.New("special")

// specialActions refuse everything.
type specialActions struct{}

func (specialActions) Requeue(context.Context, string) (Task, error) { return Task{}, errSpecial }
func (specialActions) CheckPayload(*Task, json.RawMessage) error     { return errSpecial }

func TestAdminChangesTasksOfAnyTopic(t *testing.T) {
	t.Parallel()
	store := &memoryStore{Task{ID: "t", Topic: "work/a", State: StateDead, Tries: 5, MaxTries: 5, Payload: []byte("1")}}
	admin := NewAdmin(store, map[string]TopicActions{"settle": specialActions{}})
	if result, err := admin.Edit(t.Context(), "t", []byte(`{"mended":true}`)); err != nil || result.State != StateDead || string(result.Payload) != `{"mended":true}` {
		t.Errorf("edited: %+v, %v", result, err)
	}
	for name, payload := range map[string][]byte{"no JSON": []byte("{"), "nothing": []byte(" null\n"), "too large": make([]byte, MaxPayloadBytes+1)} {
		if _, err := admin.Edit(t.Context(), "t", payload); !errors.Is(err, ErrBadTask) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if result, err := admin.Requeue(t.Context(), "t"); err != nil || result.State != StateWaiting || result.Tries != 0 {
		t.Errorf("requeued: %+v, %v", result, err)
	}
	if result, err := admin.Discard(t.Context(), "t"); err != nil || result.State != StateDiscarded {
		t.Errorf("discarded: %+v, %v", result, err)
	}
	store.task.State = StateDone
	if _, err := admin.Requeue(t.Context(), "t"); !errors.Is(err, ErrDone) {
		t.Error(err)
	}
	if _, err := admin.Discard(t.Context(), "nope"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

func TestAdminUsesTheSpecialActionsOfATopic(t *testing.T) {
	t.Parallel()
	admin := NewAdmin(&memoryStore{Task{ID: "t", Topic: "settle", State: StateDead}}, map[string]TopicActions{"settle": specialActions{}})
	if _, err := admin.Requeue(t.Context(), "t"); !errors.Is(err, errSpecial) {
		t.Errorf("requeued: %v", err)
	}
	if _, err := admin.Edit(t.Context(), "t", []byte("1")); !errors.Is(err, errSpecial) {
		t.Errorf("edited: %v", err)
	}
}
