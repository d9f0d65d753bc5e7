package ledger

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"laststand/internal/taskqueue"
)

// taskModel is the state of the task with a key.
type taskModel struct {
	id        string // "": there is no task
	state     taskqueue.State
	fence     int64
	notBefore int64 // a lease or a wait ends no earlier, or the task ended no earlier; epoch ms
}

// operation is a call of the queue about one key. apply returns the states that the key
// can have after the call, if it was in state s and the call returned gave. It returns
// none if the call cannot have returned that.
type operation interface {
	apply(s taskModel, gave any) []taskModel
}

type (
	didEnqueue struct{} // returned taskqueue.Accepted
	didClaim   struct{} // returned taskqueue.Task
	// The other operations on a lease returned whether it was held.
	didRenew struct {
		taskqueue.Lease
		until int64
	}
	didComplete struct {
		taskqueue.Lease
		at int64
	}
	didFail struct {
		taskqueue.Lease
		dueAt int64
		final bool
	}
	didReturn struct{ taskqueue.Lease }
	// didChange is a change by an operator; it returned an answer.
	didChange struct {
		id     string
		at     int64
		change func(*taskqueue.Task) error
	}
	didRead     struct{ id string } // returned an answer
	didMaintain struct{ at int64 }  // returned nothing; due tasks may have returned to the queue
	didForget   struct{ at int64 }  // returned nothing; tasks that ended long ago may be deleted
	shownState  struct {
		state taskqueue.State
		fence int64
	}
	answer struct {
		shownState
		err error
	}
)

func onlyIf(s taskModel, possible bool) []taskModel {
	if !possible {
		return nil
	}
	return []taskModel{s}
}

func (didEnqueue) apply(s taskModel, gave any) []taskModel {
	a := gave.(taskqueue.Accepted)
	if s.id == "" {
		return onlyIf(taskModel{id: a.ID, state: taskqueue.StateWaiting}, a.New && a.State == taskqueue.StateWaiting)
	}
	return onlyIf(s, !a.New && a.ID == s.id && a.State == s.state)
}

func (didClaim) apply(s taskModel, gave any) []taskModel {
	t := gave.(taskqueue.Task)
	possible := t.ID == s.id && s.state == taskqueue.StateWaiting && t.Fence == s.fence+1
	return onlyIf(taskModel{id: s.id, state: taskqueue.StateClaimed, fence: t.Fence, notBefore: t.DueAt}, possible)
}

// ended returns the possible states of a task after its attempt has ended, if the lease
// was held.
func (s taskModel) ended(lease taskqueue.Lease, held any, state taskqueue.State, at int64) []taskModel {
	holds := s.state == taskqueue.StateClaimed && s.id == lease.ID && s.fence == lease.Fence
	if !holds {
		return onlyIf(s, held == false)
	}
	return onlyIf(taskModel{s.id, state, s.fence, at}, held == true)
}

func (d didRenew) apply(s taskModel, held any) []taskModel {
	return s.ended(d.Lease, held, taskqueue.StateClaimed, d.until)
}

func (d didComplete) apply(s taskModel, held any) []taskModel {
	if s.state == taskqueue.StateDone && s.id == d.ID && s.fence == d.Fence {
		return onlyIf(s, held == true)
	}
	return s.ended(d.Lease, held, taskqueue.StateDone, d.at)
}

func (d didFail) apply(s taskModel, held any) []taskModel {
	if d.final {
		return s.ended(d.Lease, held, taskqueue.StateDead, 0)
	}
	return s.ended(d.Lease, held, taskqueue.StateLater, d.dueAt)
}

func (d didReturn) apply(s taskModel, held any) []taskModel {
	return s.ended(d.Lease, held, taskqueue.StateWaiting, 0)
}

func (d didChange) apply(s taskModel, gave any) []taskModel {
	found := gave.(answer)
	if s.id != d.id {
		return onlyIf(s, errors.Is(found.err, taskqueue.ErrNotFound))
	}
	t := taskqueue.Task{State: s.state}
	if err := d.change(&t); err != nil {
		return onlyIf(s, errors.Is(found.err, err))
	}
	if t.State != s.state || t.State == taskqueue.StateDiscarded {
		s.state, s.notBefore = t.State, d.at
	}
	return onlyIf(s, found == answer{shownState: shownState{s.state, s.fence}})
}

func (d didRead) apply(s taskModel, gave any) []taskModel {
	found := gave.(answer)
	if s.id != d.id {
		return onlyIf(s, errors.Is(found.err, taskqueue.ErrNotFound))
	}
	return onlyIf(s, found == answer{shownState: shownState{s.state, s.fence}})
}

func (d didMaintain) apply(s taskModel, _ any) []taskModel {
	if (s.state == taskqueue.StateClaimed || s.state == taskqueue.StateLater) && s.notBefore <= d.at {
		return []taskModel{s, {id: s.id, state: taskqueue.StateWaiting, fence: s.fence}}
	}
	return []taskModel{s}
}

func (d didForget) apply(s taskModel, _ any) []taskModel {
	if (s.state == taskqueue.StateDone || s.state == taskqueue.StateDiscarded) && s.notBefore+keyTTL.Milliseconds() < d.at {
		return []taskModel{s, {}}
	}
	return []taskModel{s}
}

// queueState is the state of an ordered queue. Its head is the task with a number, and the
// next task has the next number.
type queueState struct {
	number int
	head   taskModel
}

// queueOperation is an operation on the task with a number; 0 means the head, whichever it is.
type queueOperation struct {
	operation

	number int
}

func (d queueOperation) applyToQueue(s queueState, gave any) (after []queueState) {
	if t, ok := gave.(taskqueue.Task); ok && d.number == s.number+1 && s.isOver() {
		s = queueState{d.number, taskModel{id: t.ID, state: taskqueue.StateWaiting}}
	}
	if d.number > 0 && d.number != s.number {
		if gave == false {
			after = append(after, s)
		}
		return after
	}
	for _, head := range d.apply(s.head, gave) {
		after = append(after, queueState{s.number, head})
	}
	return after
}

// isOver reports whether the queue no longer waits for its head.
func (s queueState) isOver() bool {
	return s.head.id == "" || s.head.state == taskqueue.StateDone || s.head.state == taskqueue.StateDead
}

// historyRecorder records concurrent operations on the queue with their results.
type historyRecorder struct {
	mu       sync.Mutex
	now      int64                            // counts starts and ends of operations
	keyOps   map[string][]porcupine.Operation // of operations, by key
	queueOps []porcupine.Operation            // operations on the queue
	allOps   []porcupine.Operation            // of operations on all keys and on the queue
}

func newHistoryRecorder() *historyRecorder {
	return &historyRecorder{keyOps: map[string][]porcupine.Operation{}}
}

func (w *historyRecorder) start() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now++
	return w.now
}

func (w *historyRecorder) end(begun int64, what, gave any) porcupine.Operation {
	w.now++
	return porcupine.Operation{Input: what, Call: begun, Output: gave, Return: w.now}
}

func (w *historyRecorder) recordKey(key string, begun int64, d operation, gave any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.keyOps[key] = append(w.keyOps[key], w.end(begun, d, gave))
}

func (w *historyRecorder) recordQueue(number int, begun int64, d operation, gave any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queueOps = append(w.queueOps, w.end(begun, queueOperation{d, number}, gave))
}

func (w *historyRecorder) recordAll(begun int64, d operation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.allOps = append(w.allOps, w.end(begun, d, nil))
}

// history returns the operations on one key or on the queue, with the operations on
// everything.
func (w *historyRecorder) history(some []porcupine.Operation, as func(operation) any) []porcupine.Operation {
	history := append([]porcupine.Operation{}, some...)
	for _, o := range w.allOps {
		o.Input = as(o.Input.(operation))
		history = append(history, o)
	}
	for i := range history {
		history[i].ClientId = i // a row of its own in the picture
	}
	return history
}

// check returns a picture of the first history that is not linearizable, or "". A history
// is linearizable if each operation can be applied at one moment between its start and
// its end.
func (w *historyRecorder) check(folder string) (picture string) {
	ofKeys := newPorcupineModel(taskModel{}, func(s taskModel, what, gave any) []taskModel { return what.(operation).apply(s, gave) })
	for _, actions := range w.keyOps {
		if picture := explain(ofKeys, w.history(actions, func(d operation) any { return d }), folder); picture != "" {
			return picture
		}
	}
	ofLine := newPorcupineModel(queueState{}, func(s queueState, what, gave any) []queueState { return what.(queueOperation).applyToQueue(s, gave) })
	return explain(ofLine, w.history(w.queueOps, func(d operation) any { return queueOperation{d, 0} }), folder)
}

func newPorcupineModel[S comparable](start S, on func(s S, what, gave any) []S) porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{start} },
		Step: func(s, what, gave any) (after []any) {
			for _, a := range on(s.(S), what, gave) {
				after = append(after, a)
			}
			return after
		},
	}
	return m.ToModel()
}

func explain(m porcupine.Model, history []porcupine.Operation, folder string) (picture string) {
	result, info := porcupine.CheckOperationsVerbose(m, history, time.Minute)
	if result == porcupine.Ok {
		return ""
	}
	picture = filepath.Join(folder, "history.html")
	if err := porcupine.VisualizePath(m, info, picture); err != nil {
		return err.Error()
	}
	return picture
}

// The checker finds histories that cannot be right.
func TestTheCheckerFindsWrongTaskHistories(t *testing.T) {
	t.Parallel()
	in := taskqueue.Accepted{ID: "t", State: taskqueue.StateWaiting, New: true}
	claim := func(fence int64) taskqueue.Task { return taskqueue.Task{ID: "t", Fence: fence, DueAt: 100} }
	lease := func(fence int64) taskqueue.Lease { return taskqueue.Lease{ID: "t", Fence: fence} }
	type found struct {
		operation
		gave any
	}
	begins := []found{{didEnqueue{}, in}, {didClaim{}, claim(1)}}
	for name, c := range map[string]struct {
		linear   bool
		reported []found
	}{
		"as it should be": {true, []found{
			{didMaintain{at: 100}, nil}, {didClaim{}, claim(2)}, {didComplete{lease(1), 0}, false}, {didComplete{lease(2), 7}, true},
			{didComplete{lease(2), 8}, true}, {didForget{8 + keyTTL.Milliseconds()}, nil}, {didEnqueue{}, in},
		}},
		"the same lease twice":               {false, []found{{didMaintain{at: 100}, nil}, {didClaim{}, claim(1)}}},
		"a claim while another's lease runs": {false, []found{{didMaintain{at: 99}, nil}, {didClaim{}, claim(2)}}},
		"the old lease held":                 {false, []found{{didMaintain{at: 100}, nil}, {didClaim{}, claim(2)}, {didComplete{lease(1), 0}, true}}},
		"lost for no reason":                 {false, []found{{didComplete{lease(1), 0}, false}}},
		"done and handed out again":          {false, []found{{didComplete{lease(1), 0}, true}, {didMaintain{at: 100}, nil}, {didClaim{}, claim(2)}}},
		"accepted and gone":                  {false, []found{{didRead{"t"}, answer{err: taskqueue.ErrNotFound}}}},
		"forgotten too early": {false, []found{
			{didComplete{lease(1), 0}, true}, {didForget{keyTTL.Milliseconds()}, nil}, {didRead{"t"}, answer{err: taskqueue.ErrNotFound}},
		}},
	} {
		w := newHistoryRecorder()
		for _, d := range append(begins[:2:2], c.reported...) {
			w.recordKey("key", w.start(), d.operation, d.gave)
		}
		if picture := w.check(t.ArtifactDir()); (picture == "") != c.linear {
			t.Errorf("%s: linear %v", name, picture == "")
		}
	}
}

// The checker finds two tasks of an ordered queue that run at the same time, and a
// skipped task.
func TestTheCheckerFindsWrongQueueHistories(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		linear   bool
		complete bool // the first, before the second is claimed
		second   int
	}{
		"as it should be": {true, true, 2},
		"two at once":     {false, false, 2},
		"passed over":     {false, true, 3},
	} {
		w := newHistoryRecorder()
		w.recordQueue(1, w.start(), didClaim{}, taskqueue.Task{ID: "1", Fence: 1})
		if c.complete {
			w.recordQueue(1, w.start(), didComplete{taskqueue.Lease{ID: "1", Fence: 1}, 0}, true)
		}
		w.recordQueue(c.second, w.start(), didClaim{}, taskqueue.Task{ID: "2", Fence: 1})
		if picture := w.check(t.ArtifactDir()); (picture == "") != c.linear {
			t.Errorf("%s: linear %v", name, picture == "")
		}
	}
}
