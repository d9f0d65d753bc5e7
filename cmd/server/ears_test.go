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

// ears are the far side of webhooks, a path an endpoint. What is not signed by
// one of the keys they refuse, and the test fails.
type ears struct {
	URL string
	t   *testing.T

	mu     sync.Mutex
	keys   string // one a line
	events []*told
	says   map[string]func(try int) int // the status of each try of an event, by path; nil: 204
}

// told is an event as it came to an endpoint.
type told struct {
	endpoint, id string
	body         string
	tries        int
	taken        bool // answered with success
	said         struct {
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

func newEars(t *testing.T) *ears {
	t.Helper()
	e := &ears{t: t, keys: oldWebhookKey, says: map[string]func(int) int{}}
	e.URL = testenv.Serve(t, e.hear)
	return e
}

func (e *ears) hear(w http.ResponseWriter, q *http.Request) {
	p, err := testenv.ReadPosted(q)
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
	m := e.note(strings.TrimPrefix(q.URL.Path, "/"), p.Headers().ID, string(p.Body))
	status := http.StatusNoContent
	if says := e.says[m.endpoint]; says != nil {
		status = says(m.tries)
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	m.taken = m.taken || status < 300
	w.WriteHeader(status)
}

// note notes a try; the ears are locked.
func (e *ears) note(endpoint, id, body string) *told {
	at := slices.IndexFunc(e.events, func(m *told) bool { return m.endpoint == endpoint && m.id == id })
	if at < 0 {
		m := &told{endpoint: endpoint, id: id, body: body}
		if err := json.Unmarshal([]byte(body), &m.said); err != nil {
			e.t.Errorf("to %s came %s: %v", endpoint, body, err)
		}
		e.events, at = append(e.events, m), len(e.events)
	}
	m := e.events[at]
	m.tries++
	if m.body != body {
		e.t.Errorf("%s came to %s as %s and as %s", id, endpoint, m.body, body)
	}
	return m
}

// say has the tries of each event to an endpoint answered so.
func (e *ears) say(endpoint string, status func(try int) int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.says[endpoint] = status
}

// of are the events of a type that an endpoint has got; of all for "".
func (e *ears) of(endpoint, kind string) (all []told) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, m := range e.events {
		if m.endpoint == endpoint && (kind == "" || m.said.Type == kind) {
			all = append(all, *m)
		}
	}
	return all
}

// taken waits until an endpoint has taken so many events of a type, and gives
// them.
func (e *ears) taken(endpoint, kind string, count int) (all []told) {
	e.t.Helper()
	eventuallyWithin(e.t, time.Minute, kind+" comes to "+endpoint, func() bool {
		all = slices.DeleteFunc(e.of(endpoint, kind), func(m told) bool { return !m.taken })
		return len(all) >= count
	})
	if len(all) != count {
		e.t.Errorf("%d of %s came to %s, want %d", len(all), kind, endpoint, count)
	}
	return all
}
