package taskqueue

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTaskRecordsFailuresAndCompletion(t *testing.T) {
	t.Parallel()
	var task Task
	for at := range int64(30) {
		if err := task.Fail(at, errors.New(strings.Repeat("ä", 400)+"x")); err != nil {
			t.Fatal(err)
		}
	}
	last := task.Errors[len(task.Errors)-1]
	if task.State != StateDead || task.Tries != 30 || len(task.Errors) != maxStoredErrors || last.At != 29 {
		t.Errorf("after 30 failures %+v", task)
	}
	if len(last.Error) > maxErrorBytes || len(last.Error) < maxErrorBytes-3 || !utf8.ValidString(last.Error) {
		t.Errorf("an error of %d bytes: %q", len(last.Error), last.Error)
	}
	if err := task.Edit([]byte("1")); err != nil || string(task.Payload) != "1" || task.State != StateDead {
		t.Errorf("edited: %v, %+v", err, task)
	}
	if err := task.Discard(); err != nil || task.State != StateDiscarded {
		t.Errorf("discarded: %v, %+v", err, task)
	}
	task.Finish([]byte("2"))
	if task.State != StateDone || task.Tries != 31 || string(task.Payload) != "2" {
		t.Errorf("done: %+v", task)
	}
}

func TestADoneTaskCannotBeChanged(t *testing.T) {
	t.Parallel()
	task := Task{State: StateDone, Tries: 3}
	for name, err := range map[string]error{
		"fail": task.Fail(1, errors.New("why")), "edit": task.Edit([]byte("1")), "discard": task.Discard(),
	} {
		if !errors.Is(err, ErrDone) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if task.Finish([]byte("2")); task.State != StateDone || task.Tries != 3 || task.Payload != nil || task.Errors != nil {
		t.Errorf("a done task became %+v", task)
	}
}
