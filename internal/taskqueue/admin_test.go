package taskqueue

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
)

// memoryStore stores one task.
type memoryStore struct{ task Task }

func (k *memoryStore) Task(_ context.Context, id string) (Task, error) {
	if id != k.task.ID {
		return Task{}, ErrNotFound
	}
	return k.task, nil
}

func (k *memoryStore) ChangeTask(ctx context.Context, id string, change func(*Task) error) (Task, error) {
	t, err := k.Task(ctx, id)
	if err == nil {
		err = change(&t)
	}
	if err != nil {
		return Task{}, err
	}
	k.task = t
	return t, nil
}

// fakeActions records the last call.
type fakeActions struct{ lastCall string }

func (s *fakeActions) Requeue(_ context.Context, id string) (Task, error) {
	return s.record("requeue " + id)
}
func (s *fakeActions) Discard(_ context.Context, id string) (Task, error) {
	return s.record("discard " + id)
}
func (s *fakeActions) Edit(_ context.Context, id string, payload json.RawMessage) (Task, error) {
	return s.record("edit " + id + " " + string(payload))
}

func (s *fakeActions) record(operation string) (Task, error) {
	s.lastCall = operation
	return Task{}, nil
}

func TestAdminOfAnyTopic(t *testing.T) {
	t.Parallel()
	k := &memoryStore{Task{ID: "t", Topic: "work/a", State: Dead, Tries: 5, MaxTries: 5, Payload: []byte("1")}}
	d := NewAdmin(k, map[string]TaskActions{"settle": &fakeActions{}})
	if result, err := d.Edit(t.Context(), "t", []byte(`{"mended":true}`)); err != nil || result.State != Dead || string(result.Payload) != `{"mended":true}` {
		t.Errorf("edited: %+v, %v", result, err)
	}
	for name, payload := range map[string][]byte{"no JSON": []byte("{"), "nothing": []byte(" null\n"), "too large": make([]byte, MaxPayload+1)} {
		if _, err := d.Edit(t.Context(), "t", payload); !errors.Is(err, ErrBadTask) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if result, err := d.Requeue(t.Context(), "t"); err != nil || result.State != Waiting || result.Tries != 0 {
		t.Errorf("requeued: %+v, %v", result, err)
	}
	if result, err := d.Discard(t.Context(), "t"); err != nil || result.State != Discarded {
		t.Errorf("discarded: %+v, %v", result, err)
	}
	k.task.State = Done
	if _, err := d.Requeue(t.Context(), "t"); !errors.Is(err, ErrDone) {
		t.Error(err)
	}
	if _, err := d.Discard(t.Context(), "nope"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

func TestAdminOfATopicWithItsOwnActions(t *testing.T) {
	t.Parallel()
	own := &fakeActions{}
	d := NewAdmin(&memoryStore{Task{ID: "t", Topic: "settle", State: Dead}}, map[string]TaskActions{"settle": own})
	for want, ask := range map[string]func() (Task, error){
		"requeue t": func() (Task, error) { return d.Requeue(t.Context(), "t") },
		"edit t {":  func() (Task, error) { return d.Edit(t.Context(), "t", []byte("{")) },
		"discard t": func() (Task, error) { return d.Discard(t.Context(), "t") },
	} {
		if _, err := ask(); err != nil || own.lastCall != want {
			t.Errorf("asked for %q, want %q, %v", own.lastCall, want, err)
		}
	}
}
