package hooks

import (
	"slices"
	"sync"
	"time"

	"laststand/internal/taskqueue"
)

// receiver is an endpoint with what this node knows of it.
type receiver struct {
	Endpoint
	*pace

	mu      sync.Mutex
	state   State
	fault   string // of the last try that failed
	faultAt int64
}

func newReceiver(e Endpoint) *receiver {
	return &receiver{Endpoint: e, pace: newPace(), state: State{Game: e.Game, Name: e.Name}}
}

func (r *receiver) wants(what string) bool { return slices.Contains(r.Events, what) }

// delivery is the task by which the endpoint gets a message: the key is its id,
// the payload its body.
func (r *receiver) delivery(m Message) taskqueue.NewTask {
	task := taskqueue.NewTask{Game: r.Game, Topic: r.Topic(), Key: m.ID, MaxTries: maxTries, Payload: m.Body}
	if r.Ordered {
		task.Ordering = taskqueue.Ordered
	}
	return task
}

// disabled says why nothing is sent to it; "": it is.
func (r *receiver) disabled() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.Disabled
}

func (r *receiver) know(s State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state = s
}

func (r *receiver) failed(why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fault, r.faultAt = why.Error(), time.Now().UnixMilli()
}

// status is what is known of it without asking anyone.
func (r *receiver) status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Status{State: r.state, Events: r.Events, Ordered: r.Ordered, Error: r.fault, ErrorAt: r.faultAt}
}
