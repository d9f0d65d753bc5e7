package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"laststand/internal/testenv"
)

// signedReceiver receives messages, at one path per endpoint or game. It refuses a message that none of
// the keys signed, and fails the test.
type signedReceiver struct {
	URL string
	t   *testing.T

	mu   sync.Mutex
	keys string // one per line
}

// serve serves the receiver. It calls handle with the path, without a slash, and the message.
func (r *signedReceiver) serve(t *testing.T, handle func(w http.ResponseWriter, request *http.Request, path string, received testenv.ReceivedRequest)) {
	t.Helper()
	r.t, r.keys = t, testenv.OldWebhookKey
	r.URL = testenv.Serve(t, func(w http.ResponseWriter, request *http.Request) {
		received, err := testenv.ReadRequest(request)
		if err != nil {
			return
		}
		r.mu.Lock()
		err = received.Verify(r.keys, time.Now())
		r.mu.Unlock()
		if err != nil {
			t.Errorf("a message to %s: %v", request.URL.Path, err)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handle(w, request, strings.TrimPrefix(request.URL.Path, "/"), received)
	})
}

// webhookReceiver receives webhooks, at one path per endpoint.
type webhookReceiver struct {
	signedReceiver

	events   []*webhookEvent
	statuses map[string]func(try int) int // the status of each try of an event, by path; nil: 204
}

// webhookEvent is an event as an endpoint got it.
type webhookEvent struct {
	endpoint, id string
	body         string
	tries        int
	isAccepted   bool // a try was answered with success
	payload      struct {
		Type      string
		Timestamp string
		Data      struct {
			Game      string
			Match     string
			ArenaID   string `json:"arena_id"`
			Counts    bool
			Date      string
			Standings []struct {
				Player string
				Score  int64
			}
			Boards []struct {
				Kind    string
				Order   string
				Total   int64
				Entries json.RawMessage
			}
		}
	}
}

func newWebhookReceiver(t *testing.T) *webhookReceiver {
	t.Helper()
	r := &webhookReceiver{statuses: map[string]func(int) int{}}
	r.serve(t, r.handle)
	return r
}

func (r *webhookReceiver) handle(w http.ResponseWriter, _ *http.Request, endpoint string, received testenv.ReceivedRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	event := r.record(endpoint, received.ID(), string(received.Body))
	status := http.StatusNoContent
	if statusOfTry := r.statuses[event.endpoint]; statusOfTry != nil {
		status = statusOfTry(event.tries)
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	event.isAccepted = event.isAccepted || status < 300
	w.WriteHeader(status)
}

// record records a try. The caller must have locked mu.
func (r *webhookReceiver) record(endpoint, id, body string) *webhookEvent {
	index := slices.IndexFunc(r.events, func(event *webhookEvent) bool { return event.endpoint == endpoint && event.id == id })
	if index < 0 {
		event := &webhookEvent{endpoint: endpoint, id: id, body: body}
		if err := json.Unmarshal([]byte(body), &event.payload); err != nil {
			r.t.Errorf("%s got an invalid body %s: %v", endpoint, body, err)
		}
		r.events, index = append(r.events, event), len(r.events)
	}
	event := r.events[index]
	event.tries++
	if event.body != body {
		r.t.Errorf("event %s arrived at %s with different bodies: %s and %s", id, endpoint, event.body, body)
	}
	return event
}

// respond sets the status of each try of each event to an endpoint.
func (r *webhookReceiver) respond(endpoint string, status func(try int) int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.statuses[endpoint] = status
}

// received returns the events of a type that an endpoint got, or all of them for "".
func (r *webhookReceiver) received(endpoint, kind string) (all []webhookEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, event := range r.events {
		if event.endpoint == endpoint && (kind == "" || event.payload.Type == kind) {
			all = append(all, *event)
		}
	}
	return all
}

// waitForAccepted waits until an endpoint has accepted this many events of a type, and returns
// them.
func (r *webhookReceiver) waitForAccepted(endpoint, kind string, count int) (all []webhookEvent) {
	r.t.Helper()
	waitUntilWithin(r.t, time.Minute, endpoint+" accepts the events "+kind, func() bool {
		all = slices.DeleteFunc(r.received(endpoint, kind), func(event webhookEvent) bool { return !event.isAccepted })
		return len(all) >= count
	})
	if len(all) != count {
		r.t.Errorf("%d events %s arrived at %s, want %d", len(all), kind, endpoint, count)
	}
	return all
}
