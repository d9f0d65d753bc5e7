package redismatch

import (
	"math"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// operation is one that several nodes do to an object of state S. As the object
// stands, on says whether the act can have given what it gave, and how the
// object stands after it. An act that failed gave nil: it may have been done at
// any time from its beginning on, or never.
type operation[S comparable] interface {
	applyTo(stands S, gave any) (possible bool, after S)
}

// history is what was done to an object, and what it gave.
type history struct {
	mu   sync.Mutex
	now  int64 // counts beginnings and ends
	acts []porcupine.Operation
}

// record does an act and notes it.
func (h *history) record(input any, call func() (output any, err error)) {
	begun := h.tick()
	output, err := call()
	done := porcupine.Operation{Input: input, Call: begun, Output: output, Return: h.tick()}
	if err != nil {
		done.Output, done.Return = nil, math.MaxInt64
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	done.ClientId = len(h.acts) // a row of its own in the picture
	h.acts = append(h.acts, done)
}

func (h *history) tick() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now++
	return h.now
}

// failed counts the acts of which nobody knows whether they were done.
func (h *history) failed() (n int) {
	for _, a := range h.acts {
		if a.Output == nil {
			n++
		}
	}
	return n
}

// isLinearizable says whether there is an order in which the acts can have been done
// one at a time, each at an instant between its beginning and its end.
func isLinearizable[S comparable](h *history, start S) bool {
	return porcupine.CheckOperations(modelOf(start), h.acts)
}

// checkLinearizable fails a test whose history is not linear, and draws it: go test
// -artifacts keeps the picture.
func checkLinearizable[S comparable](t *testing.T, h *history, start S) {
	t.Helper()
	model := modelOf(start)
	result, info := porcupine.CheckOperationsVerbose(model, h.acts, time.Minute)
	if result == porcupine.Ok {
		return
	}
	picture := filepath.Join(t.ArtifactDir(), "history.html")
	if err := porcupine.VisualizePath(model, info, picture); err != nil {
		t.Error(err)
	}
	t.Fatalf("%d acts, %d of them failed: %s, see %s", len(h.acts), h.failed(), result, picture)
}

func modelOf[S comparable](start S) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return start },
		Step: func(stands, what, gave any) (bool, any) { return what.(operation[S]).applyTo(stands.(S), gave) },
	}
}
