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

// batchReceiver is the far side of webhooks, a path a game. What is not signed by its
// key it refuses, and the test fails.
type batchReceiver struct {
	URL string
	t   *testing.T

	mu         sync.Mutex
	key        string
	batches    []*receivedBatch
	retryAfter map[string]int // games that are told to come again in so many seconds
	release    chan struct{}  // closed: who waits is answered
	pending    int            // requests that are not answered yet
}

// receivedBatch is a batch as it came, with its tries.
type receivedBatch struct {
	id, game       string
	items          []eventq.Behaviour
	tries          []time.Time
	itemsByOutcome bool // answered with success
}

func newBatchReceiver(t *testing.T) *batchReceiver {
	t.Helper()
	r := &batchReceiver{t: t, key: oldWebhookKey, retryAfter: map[string]int{}, release: make(chan struct{})}
	close(r.release)
	r.URL = testenv.Serve(t, r.handle)
	return r
}

func (r *batchReceiver) handle(w http.ResponseWriter, q *http.Request) {
	p, err := testenv.ReadPosted(q)
	if err != nil {
		return
	}
	m, release, retryHeader := r.record(strings.TrimPrefix(q.URL.Path, "/"), p)
	defer r.endRequest()
	switch {
	case m == nil:
		w.WriteHeader(http.StatusUnauthorized)
		return
	case retryHeader != "":
		w.Header().Set("Retry-After", retryHeader)
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	select {
	case <-release:
	case <-q.Context().Done(): // the node is dead, or has waited long enough
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	m.itemsByOutcome = true
}

// record notes a try. Without a message it is not genuine.
func (r *batchReceiver) record(game string, p testenv.Posted) (m *receivedBatch, release chan struct{}, retryHeader string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending++
	if err := p.Verify(r.key, time.Now()); err != nil {
		r.t.Errorf("a message of %s: %v", game, err)
		return nil, nil, ""
	}
	id := p.Headers().ID
	if m = r.findBatch(id); m == nil {
		m = &receivedBatch{id: id, game: game, items: r.decodeItems(game, p.Body)}
		r.batches = append(r.batches, m)
	}
	m.tries = append(m.tries, time.Now())
	if seconds := r.retryAfter[game]; seconds > 0 {
		retryHeader = string(rune('0' + seconds))
	}
	return m, r.release, retryHeader
}

func (r *batchReceiver) endRequest() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending--
}

func (r *batchReceiver) findBatch(id string) *receivedBatch {
	for _, m := range r.batches {
		if m.id == id {
			return m
		}
	}
	return nil
}

// decodeItems reads a body, which has to be of a game and of a batch that may be.
func (r *batchReceiver) decodeItems(game string, body []byte) []eventq.Behaviour {
	var payload struct {
		Type string
		Data struct {
			Game  string
			Items []eventq.Behaviour
		}
	}
	err := json.Unmarshal(body, &payload)
	if n := len(payload.Data.Items); err != nil || payload.Type != "game.behaviour.batch" || payload.Data.Game != game || n == 0 || n > eventq.MaxBatch {
		r.t.Errorf("to %s came %s: %v", game, body, err)
	}
	return payload.Data.Items
}

// holdResponses keeps everybody waiting for an answer, until what it gives is called.
func (r *batchReceiver) holdResponses() (pending func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	release := make(chan struct{})
	r.release = release
	return sync.OnceFunc(func() { close(release) })
}

// refuseGame has tries of a game answered with 429 and Retry-After, in seconds below
// 10; 0: no more.
func (r *batchReceiver) refuseGame(game string, seconds int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.retryAfter[game] = seconds
}

// countPending is how many wait for an answer.
func (r *batchReceiver) countPending() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pending
}

// batchesOf are the messages of a game as they came, retries of one left out.
func (r *batchReceiver) batchesOf(game string) (all []receivedBatch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.batches {
		if m.game == game {
			one := *m
			one.tries = slices.Clone(m.tries)
			all = append(all, one)
		}
	}
	return all
}

// itemsByOutcome are the behaviours of a game in messages that were answered with
// success, and of those that were not.
func (r *batchReceiver) itemsByOutcome(game string) (accepted, unaccepted []eventq.Behaviour) {
	for _, m := range r.batchesOf(game) {
		if m.itemsByOutcome {
			accepted = append(accepted, m.items...)
		} else {
			unaccepted = append(unaccepted, m.items...)
		}
	}
	return accepted, unaccepted
}
