package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"laststand/internal/eventq"
	"laststand/internal/testenv"
)

// batchReceiver receives the webhooks of behaviours, at one path per game.
type batchReceiver struct {
	signedReceiver

	batches    []*receivedBatch
	retryAfter map[string]int // seconds of Retry-After that a game gets
	release    chan struct{}  // closed: waiting requests get their answers
	pending    int            // requests that are not answered yet
}

// receivedBatch is a batch as the receiver got it, with its tries.
type receivedBatch struct {
	id, game   string
	items      []eventq.Behaviour
	tries      []time.Time
	isAccepted bool // a try was answered with success
}

func newBatchReceiver(t *testing.T) *batchReceiver {
	t.Helper()
	r := &batchReceiver{retryAfter: map[string]int{}, release: make(chan struct{})}
	close(r.release)
	r.serve(t, r.handle)
	return r
}

func (r *batchReceiver) handle(w http.ResponseWriter, request *http.Request, game string, received testenv.ReceivedRequest) {
	batch, release, retryHeader := r.record(game, received)
	defer r.endRequest()
	if retryHeader != "" {
		w.Header().Set("Retry-After", retryHeader)
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	select {
	case <-release:
	case <-request.Context().Done(): // the node is dead or has timed out
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	batch.isAccepted = true
}

// record records a try and returns its batch. retryHeader is the value of Retry-After, or "" if the
// receiver accepts the try.
func (r *batchReceiver) record(game string, received testenv.ReceivedRequest) (batch *receivedBatch, release chan struct{}, retryHeader string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending++
	id := received.ID()
	if batch = r.findBatch(id); batch == nil {
		batch = &receivedBatch{id: id, game: game, items: r.decodeItems(game, received.Body)}
		r.batches = append(r.batches, batch)
	}
	batch.tries = append(batch.tries, time.Now())
	if seconds := r.retryAfter[game]; seconds > 0 {
		retryHeader = string(rune('0' + seconds))
	}
	return batch, r.release, retryHeader
}

func (r *batchReceiver) endRequest() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending--
}

func (r *batchReceiver) findBatch(id string) *receivedBatch {
	for _, batch := range r.batches {
		if batch.id == id {
			return batch
		}
	}
	return nil
}

// decodeItems decodes a body. The body must belong to the game and have 1 to
// eventq.MaxBatch items.
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
		r.t.Errorf("%s got an invalid body %s: %v", game, body, err)
	}
	return payload.Data.Items
}

// holdResponses delays all answers until the caller calls the returned function.
func (r *batchReceiver) holdResponses() (answerAll func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	release := make(chan struct{})
	r.release = release
	return sync.OnceFunc(func() { close(release) })
}

// refuseGame answers the tries of a game with 429 and Retry-After, in seconds below 10. 0 ends
// that.
func (r *batchReceiver) refuseGame(game string, seconds int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.retryAfter[game] = seconds
}

// countPending returns how many requests wait for an answer.
func (r *batchReceiver) countPending() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pending
}

// gameBatches returns the batches of a game in the order of their arrival, without retries.
func (r *batchReceiver) gameBatches(game string) (all []receivedBatch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, batch := range r.batches {
		if batch.game == game {
			copied := *batch
			copied.tries = slices.Clone(batch.tries)
			all = append(all, copied)
		}
	}
	return all
}

// itemsByOutcome returns the behaviours of a game in messages that were answered with success,
// and those in all other messages.
func (r *batchReceiver) itemsByOutcome(game string) (accepted, unaccepted []eventq.Behaviour) {
	for _, batch := range r.gameBatches(game) {
		if batch.isAccepted {
			accepted = append(accepted, batch.items...)
		} else {
			unaccepted = append(unaccepted, batch.items...)
		}
	}
	return accepted, unaccepted
}
