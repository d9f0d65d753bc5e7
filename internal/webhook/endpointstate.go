package webhook

import (
	"slices"
	"sync"
	"time"

	"laststand/internal/taskqueue"
)

// receiver is an endpoint with what this node knows of it.
type endpointState struct {
	Endpoint
	*throttle

	mu          sync.Mutex
	state       State
	lastError   string // of the last try that failed
	lastErrorAt int64
}

func newEndpointState(e Endpoint) *endpointState {
	return &endpointState{Endpoint: e, throttle: newThrottle(), state: State{Game: e.Game, Name: e.Name}}
}

func (r *endpointState) subscribes(kind string) bool { return slices.Contains(r.Events, kind) }

// delivery is the task by which the endpoint gets a message: the key is its id,
// the payload its body.
func (r *endpointState) delivery(m Message) taskqueue.NewTask {
	task := taskqueue.NewTask{Game: r.Game, Topic: r.Topic(), Key: m.ID, MaxTries: maxAttempts, Payload: m.Body}
	if r.Ordered {
		task.Ordering = taskqueue.Ordered
	}
	return task
}

// disabled says why nothing is sent to it; "": it is.
func (r *endpointState) disabledReason() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.Disabled
}

func (r *endpointState) setState(s State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state = s
}

func (r *endpointState) recordError(cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastError, r.lastErrorAt = cause.Error(), time.Now().UnixMilli()
}

// status is what is known of it without asking anyone.
func (r *endpointState) status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Status{State: r.state, Events: r.Events, Ordered: r.Ordered, Error: r.lastError, ErrorAt: r.lastErrorAt}
}
