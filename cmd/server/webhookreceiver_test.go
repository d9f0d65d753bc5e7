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

// webhookReceiver receives webhooks, at one path per endpoint. It refuses a message that none
// of the keys signed, and fails the test.
type webhookReceiver struct {
	URL string
	t   *testing.T

	mu       sync.Mutex
	keys     string // one per line
	events   []*webhookEvent
	statuses map[string]func(try int) int // the status of each try of an event, by path; nil: 204
}

// webhookEvent is an event as an endpoint got it.
type webhookEvent struct {
	endpoint, id    string
	body            string
	tries           int
	waitForAccepted bool // a try was answered with success
	payload         struct {
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
	e := &webhookReceiver{t: t, keys: oldWebhookKey, statuses: map[string]func(int) int{}}
	e.URL = testenv.Serve(t, e.handle)
	return e
}

func (e *webhookReceiver) handle(w http.ResponseWriter, q *http.Request) {
	p, err := testenv.ReadRequest(q)
	if err != nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := p.Verify(e.keys, time.Now()); err != nil {
		e.t.Errorf("a message to %s: %v", q.URL.Path, err)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	m := e.record(strings.TrimPrefix(q.URL.Path, "/"), p.Headers().ID, string(p.Body))
	status := http.StatusNoContent
	if statuses := e.statuses[m.endpoint]; statuses != nil {
		status = statuses(m.tries)
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	m.waitForAccepted = m.waitForAccepted || status < 300
	w.WriteHeader(status)
}

// record records a try. The caller must have locked mu.
func (e *webhookReceiver) record(endpoint, id, body string) *webhookEvent {
	at := slices.IndexFunc(e.events, func(m *webhookEvent) bool { return m.endpoint == endpoint && m.id == id })
	if at < 0 {
		m := &webhookEvent{endpoint: endpoint, id: id, body: body}
		if err := json.Unmarshal([]byte(body), &m.payload); err != nil {
			e.t.Errorf("%s got an invalid body %s: %v", endpoint, body, err)
		}
		e.events, at = append(e.events, m), len(e.events)
	}
	m := e.events[at]
	m.tries++
	if m.body != body {
		e.t.Errorf("event %s arrived at %s with different bodies: %s and %s", id, endpoint, m.body, body)
	}
	return m
}

// respond sets the status of each try of each event to an endpoint.
func (e *webhookReceiver) respond(endpoint string, status func(try int) int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.statuses[endpoint] = status
}

// received returns the events of a type that an endpoint got, or all of them for "".
func (e *webhookReceiver) received(endpoint, kind string) (all []webhookEvent) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, m := range e.events {
		if m.endpoint == endpoint && (kind == "" || m.payload.Type == kind) {
			all = append(all, *m)
		}
	}
	return all
}

// waitForAccepted waits until an endpoint has accepted this many events of a type, and returns
// them.
func (e *webhookReceiver) waitForAccepted(endpoint, kind string, count int) (all []webhookEvent) {
	e.t.Helper()
	waitUntilWithin(e.t, time.Minute, endpoint+" accepts the events "+kind, func() bool {
		all = slices.DeleteFunc(e.received(endpoint, kind), func(m webhookEvent) bool { return !m.waitForAccepted })
		return len(all) >= count
	})
	if len(all) != count {
		e.t.Errorf("%d events %s arrived at %s, want %d", len(all), kind, endpoint, count)
	}
	return all
}
