package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"laststand/internal/eventq"
	"laststand/internal/testenv"
)

// receiver is the far side of webhooks, a path a game. What is not signed by its
// key it refuses, and the test fails.
type receiver struct {
	URL string
	t   *testing.T

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
	items    []eventq.Behaviour
	tries    []time.Time
	taken    bool // answered with success
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{t: t, key: oldWebhookKey, refusing: map[string]int{}, gate: make(chan struct{})}
	close(r.gate)
	r.URL = testenv.Serve(t, r.receive)
	return r
}

func (r *receiver) receive(w http.ResponseWriter, q *http.Request) {
	p, err := testenv.ReadPosted(q)
	if err != nil {
		return
	}
	m, gate, again := r.enter(strings.TrimPrefix(q.URL.Path, "/"), p)
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
func (r *receiver) enter(game string, p testenv.Posted) (m *message, gate chan struct{}, again string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open++
	if err := p.Verify(r.key, time.Now()); err != nil {
		r.t.Errorf("a message of %s: %v", game, err)
		return nil, nil, ""
	}
	id := p.Headers().ID
	if m = r.messageOf(id); m == nil {
		m = &message{id: id, game: game, items: r.itemsOf(game, p.Body)}
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
func (r *receiver) itemsOf(game string, body []byte) []eventq.Behaviour {
	var said struct {
		Type string
		Data struct {
			Game  string
			Items []eventq.Behaviour
		}
	}
	err := json.Unmarshal(body, &said)
	if n := len(said.Data.Items); err != nil || said.Type != "game.behaviour.batch" || said.Data.Game != game || n == 0 || n > eventq.MaxBatch {
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
func (r *receiver) taken(game string) (yes, no []eventq.Behaviour) {
	for _, m := range r.of(game) {
		if m.taken {
			yes = append(yes, m.items...)
		} else {
			no = append(no, m.items...)
		}
	}
	return yes, no
}
