package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"laststand/internal/behaviour"
	"laststand/internal/webhook"
)

// receiver is the far side of webhooks, a path a game. What is not signed by its
// key it refuses, and the test fails.
type receiver struct {
	*httptest.Server
	t *testing.T

	mu       sync.Mutex
	key      string
	messages []*message
	refusing map[string]int // games that are told to come again in so many seconds
	gate     chan struct{}  // closed: who waits is answered
	open     int            // requests that are not answered yet
}

// message is a batch as it came, with its tries.
type message struct {
	id, game string
	items    []behaviour.Behaviour
	tries    []time.Time
	taken    bool // answered with success
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{t: t, key: oldWebhookKey, refusing: map[string]int{}, gate: make(chan struct{})}
	close(r.gate)
	r.Server = httptest.NewServer(http.HandlerFunc(r.receive))
	t.Cleanup(func() {
		r.CloseClientConnections() // of nodes that ended after an error of the test
		r.Close()
	})
	return r
}

func (r *receiver) receive(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return
	}
	m, gate, again := r.enter(q, body)
	defer r.leave()
	switch {
	case m == nil:
		w.WriteHeader(http.StatusUnauthorized)
		return
	case again != "":
		w.Header().Set("Retry-After", again)
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	select {
	case <-gate:
	case <-q.Context().Done(): // the node is dead, or has waited long enough
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	m.taken = true
}

// enter notes a try. Without a message it is not genuine.
func (r *receiver) enter(q *http.Request, body []byte) (m *message, gate chan struct{}, again string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open++
	h := webhook.Headers{ID: q.Header.Get(webhook.HeaderID), Timestamp: q.Header.Get(webhook.HeaderTimestamp), Signature: q.Header.Get(webhook.HeaderSignature)}
	keys, err := webhook.ParseKeys(r.key)
	if err == nil {
		err = webhook.Verify(keys, h, body, time.Now())
	}
	if err != nil {
		r.t.Errorf("a message to %s: %v", q.URL.Path, err)
		return nil, nil, ""
	}
	game := strings.TrimPrefix(q.URL.Path, "/")
	if m = r.messageOf(h.ID); m == nil {
		m = &message{id: h.ID, game: game, items: r.itemsOf(game, body)}
		r.messages = append(r.messages, m)
	}
	m.tries = append(m.tries, time.Now())
	if seconds := r.refusing[game]; seconds > 0 {
		again = string(rune('0' + seconds))
	}
	return m, r.gate, again
}

func (r *receiver) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open--
}

func (r *receiver) messageOf(id string) *message {
	for _, m := range r.messages {
		if m.id == id {
			return m
		}
	}
	return nil
}

// itemsOf reads a body, which has to be of a game and of a batch that may be.
func (r *receiver) itemsOf(game string, body []byte) []behaviour.Behaviour {
	var said struct {
		Type string
		Data struct {
			Game  string
			Items []behaviour.Behaviour
		}
	}
	err := json.Unmarshal(body, &said)
	if n := len(said.Data.Items); err != nil || said.Type != "game.behaviour.batch" || said.Data.Game != game || n == 0 || n > behaviour.MaxBatch {
		r.t.Errorf("to %s came %s: %v", game, body, err)
	}
	return said.Data.Items
}

// shut keeps everybody waiting for an answer, until what it gives is called.
func (r *receiver) shut() (open func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	gate := make(chan struct{})
	r.gate = gate
	return sync.OnceFunc(func() { close(gate) })
}

// refuse has tries of a game answered with 429 and Retry-After, in seconds below
// 10; 0: no more.
func (r *receiver) refuse(game string, seconds int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refusing[game] = seconds
}

// waiting is how many wait for an answer.
func (r *receiver) waiting() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open
}

// of are the messages of a game as they came, retries of one left out.
func (r *receiver) of(game string) (all []message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.messages {
		if m.game == game {
			one := *m
			one.tries = slices.Clone(m.tries)
			all = append(all, one)
		}
	}
	return all
}

// taken are the behaviours of a game in messages that were answered with
// success, and of those that were not.
func (r *receiver) taken(game string) (yes, no []behaviour.Behaviour) {
	for _, m := range r.of(game) {
		if m.taken {
			yes = append(yes, m.items...)
		} else {
			no = append(no, m.items...)
		}
	}
	return yes, no
}
