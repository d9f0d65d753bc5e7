package redismatch

import (
	"math"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// operation is one operation on an object of state S. applyTo reports whether
// the operation can have returned its output in a state, and returns the next
// state. A failed operation has output nil: it may have been executed at any
// time after its start, or never.
type operation[S comparable] interface {
	applyTo(state S, output any) (possible bool, after S)
}

// history records operations and their outputs.
type history struct {
	mu         sync.Mutex
	now        int64 // counts starts and ends
	operations []porcupine.Operation
}

// recordOperation runs an operation and records it.
func (h *history) recordOperation(input any, call func() (output any, err error)) {
	start := h.nextTime()
	output, err := call()
	finished := porcupine.Operation{Input: input, Call: start, Output: output, Return: h.nextTime()}
	if err != nil {
		finished.Output, finished.Return = nil, math.MaxInt64
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	finished.ClientId = len(h.operations) // each operation gets its own row in the drawing
	h.operations = append(h.operations, finished)
}

func (h *history) nextTime() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now++
	return h.now
}

// countFailed counts the operations whose effect is unknown.
func (h *history) countFailed() (n int) {
	for _, operation := range h.operations {
		if operation.Output == nil {
			n++
		}
	}
	return n
}

// isLinearizable reports whether an order exists in which the operations can
// have run one at a time, each between its start and its end.
func isLinearizable[S comparable](h *history, start S) bool {
	return porcupine.CheckOperations(newModel(start), h.operations)
}

// checkLinearizable fails the test if the history is not linearizable, and
// draws it; go test -artifacts keeps the drawing.
func checkLinearizable[S comparable](t *testing.T, h *history, start S) {
	t.Helper()
	model := newModel(start)
	result, info := porcupine.CheckOperationsVerbose(model, h.operations, time.Minute)
	if result == porcupine.Ok {
		return
	}
	drawing := filepath.Join(t.ArtifactDir(), "history.html")
	if err := porcupine.VisualizePath(model, info, drawing); err != nil {
		t.Error(err)
	}
	t.Fatalf("%d operations, %d of them failed: %s, see %s", len(h.operations), h.countFailed(), result, drawing)
}

func newModel[S comparable](start S) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return start },
		Step: func(state, input, output any) (bool, any) { return input.(operation[S]).applyTo(state.(S), output) },
	}
}
