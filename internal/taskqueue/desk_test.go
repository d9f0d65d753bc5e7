package taskqueue

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
)

// kept is a task on its shelf.
type kept struct{ task Task }

func (k *kept) Task(_ context.Context, id string) (Task, error) {
	if id != k.task.ID {
		return Task{}, ErrNotFound
	}
	return k.task, nil
}

func (k *kept) ChangeTask(ctx context.Context, id string, change func(*Task) error) (Task, error) {
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

// special are hands that say what they were asked for.
type special struct{ asked string }

func (s *special) Requeue(_ context.Context, id string) (Task, error) { return s.ask("requeue " + id) }
func (s *special) Discard(_ context.Context, id string) (Task, error) { return s.ask("discard " + id) }
func (s *special) Edit(_ context.Context, id string, payload json.RawMessage) (Task, error) {
	return s.ask("edit " + id + " " + string(payload))
}

func (s *special) ask(what string) (Task, error) {
	s.asked = what
	return Task{}, nil
}

func TestDeskOfAnyTopic(t *testing.T) {
	t.Parallel()
	k := &kept{Task{ID: "t", Topic: "work/a", State: Dead, Tries: 5, MaxTries: 5, Payload: []byte("1")}}
	d := NewDesk(k, map[string]Hands{"settle": &special{}})
	if got, err := d.Edit(t.Context(), "t", []byte(`{"mended":true}`)); err != nil || got.State != Dead || string(got.Payload) != `{"mended":true}` {
		t.Errorf("edited: %+v, %v", got, err)
	}
	for name, payload := range map[string][]byte{"no JSON": []byte("{"), "nothing": []byte(" null\n"), "too large": make([]byte, MaxPayload+1)} {
		if _, err := d.Edit(t.Context(), "t", payload); !errors.Is(err, ErrBadTask) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := d.Requeue(t.Context(), "t"); err != nil || got.State != Waiting || got.Tries != 0 {
		t.Errorf("requeued: %+v, %v", got, err)
	}
	if got, err := d.Discard(t.Context(), "t"); err != nil || got.State != Discarded {
		t.Errorf("discarded: %+v, %v", got, err)
	}
	k.task.State = Done
	if _, err := d.Requeue(t.Context(), "t"); !errors.Is(err, ErrDone) {
		t.Error(err)
	}
	if _, err := d.Discard(t.Context(), "nope"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

func TestDeskOfATopicOfItsOwn(t *testing.T) {
	t.Parallel()
	own := &special{}
	d := NewDesk(&kept{Task{ID: "t", Topic: "settle", State: Dead}}, map[string]Hands{"settle": own})
	for want, ask := range map[string]func() (Task, error){
		"requeue t": func() (Task, error) { return d.Requeue(t.Context(), "t") },
		"edit t {":  func() (Task, error) { return d.Edit(t.Context(), "t", []byte("{")) },
		"discard t": func() (Task, error) { return d.Discard(t.Context(), "t") },
	} {
		if _, err := ask(); err != nil || own.asked != want {
			t.Errorf("asked for %q, want %q, %v", own.asked, want, err)
		}
	}
}
