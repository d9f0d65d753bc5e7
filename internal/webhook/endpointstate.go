package webhook

import (
	"slices"
	"sync"
	"time"

	"laststand/internal/taskqueue"
)

const maxAttempts = 36 // per delivery; with the delays of deliveryBackoff they take about 3 days, at most 6

// endpointState is an endpoint with its state at this node.
type endpointState struct {
	Endpoint
	*throttle

	mu        sync.Mutex
	known     Status // what this node knows, without the fields that need the database
	isFailing bool   // the last attempt at this node failed
}

func newEndpointState(endpoint Endpoint) *endpointState {
	return &endpointState{Endpoint: endpoint, throttle: newThrottle(), known: Status{
		State: State{Game: endpoint.Game, Name: endpoint.Name}, URL: endpoint.host(), Events: endpoint.Events, Ordered: endpoint.Ordered,
	}}
}

func (endpoint *endpointState) isSubscribedTo(eventType string) bool {
	return slices.Contains(endpoint.Events, eventType)
}

// newDelivery returns the task that sends a message to the endpoint. The key is the
// id of the message, the payload its body.
func (endpoint *endpointState) newDelivery(message Message) taskqueue.NewTask {
	task := taskqueue.NewTask{Game: endpoint.Game, Topic: endpoint.Topic(), Key: message.ID, MaxTries: maxAttempts, Payload: message.Body}
	if endpoint.Ordered {
		task.Ordering = taskqueue.Ordered
	}
	return task
}

// status returns the status, without the fields that need the database.
func (endpoint *endpointState) status() Status {
	endpoint.mu.Lock()
	defer endpoint.mu.Unlock()
	return endpoint.known
}

// disabledReason returns why the endpoint gets no messages, or "" if it is
// enabled.
func (endpoint *endpointState) disabledReason() string { return endpoint.status().Disabled }

func (endpoint *endpointState) setState(state State) {
	endpoint.mu.Lock()
	defer endpoint.mu.Unlock()
	endpoint.known.State = state
}

// recordAttempt records the result of an attempt. It returns true if the endpoint has just
// started to fail.
func (endpoint *endpointState) recordAttempt(failure error) (startedFailing bool) {
	endpoint.mu.Lock()
	defer endpoint.mu.Unlock()
	now := time.Now().UnixMilli()
	if failure == nil {
		endpoint.known.AcceptedAt, endpoint.isFailing = now, false
		return false
	}
	startedFailing, endpoint.isFailing = !endpoint.isFailing, true
	endpoint.known.Error, endpoint.known.ErrorAt = failure.Error(), now
	return startedFailing
}
