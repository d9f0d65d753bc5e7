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

// fakeActions records the last call.
type fakeActions struct{ lastCall string }

func (a *fakeActions) Requeue(_ context.Context, id string) (Task, error) {
	return a.record("requeue " + id)
}
func (a *fakeActions) Discard(_ context.Context, id string) (Task, error) {
	return a.record("discard " + id)
}
func (a *fakeActions) Edit(_ context.Context, id string, payload json.RawMessage) (Task, error) {
	return a.record("edit " + id + " " + string(payload))
}

func (a *fakeActions) record(operation string) (Task, error) {
	a.lastCall = operation
	return Task{}, nil
}

func TestAdminChangesTasksOfAnyTopic(t *testing.T) {
	t.Parallel()
	store := &memoryStore{Task{ID: "t", Topic: "work/a", State: StateDead, Tries: 5, MaxTries: 5, Payload: []byte("1")}}
	admin := NewAdmin(store, map[string]TaskActions{"settle": &fakeActions{}})
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
	actions := &fakeActions{}
	admin := NewAdmin(&memoryStore{Task{ID: "t", Topic: "settle", State: StateDead}}, map[string]TaskActions{"settle": actions})
	for want, call := range map[string]func() (Task, error){
		"requeue t": func() (Task, error) { return admin.Requeue(t.Context(), "t") },
		"edit t {":  func() (Task, error) { return admin.Edit(t.Context(), "t", []byte("{")) },
		"discard t": func() (Task, error) { return admin.Discard(t.Context(), "t") },
	} {
		if _, err := call(); err != nil || actions.lastCall != want {
			t.Errorf("asked for %q, want %q, %v", actions.lastCall, want, err)
		}
	}
}
