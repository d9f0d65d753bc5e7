package webhook

import (
	"slices"
	"sync"
	"time"

	"laststand/internal/taskqueue"
)

// endpointState is an endpoint with its state at this node.
type endpointState struct {
	Endpoint
	*throttle

	mu          sync.Mutex
	state       State
	lastError   string // of the last failed attempt at this node
	lastErrorAt int64  // epoch ms
}

func newEndpointState(e Endpoint) *endpointState {
	return &endpointState{Endpoint: e, throttle: newThrottle(), state: State{Game: e.Game, Name: e.Name}}
}

func (r *endpointState) subscribes(kind string) bool { return slices.Contains(r.Events, kind) }

// delivery returns the task that sends a message to the endpoint. The key is the
// id of the message, the payload its body.
func (r *endpointState) delivery(m Message) taskqueue.NewTask {
	task := taskqueue.NewTask{Game: r.Game, Topic: r.Topic(), Key: m.ID, MaxTries: maxAttempts, Payload: m.Body}
	if r.Ordered {
		task.Ordering = taskqueue.Ordered
	}
	return task
}

// disabledReason returns why the endpoint gets no messages, or "" if it is
// enabled.
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

// status returns the status, without the fields that need the database.
func (r *endpointState) status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Status{State: r.state, Events: r.Events, Ordered: r.Ordered, Error: r.lastError, ErrorAt: r.lastErrorAt}
}
