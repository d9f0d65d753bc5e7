package httpapi

import (
	"errors"
	"io"
)

// turn is a request's place among those under way. It has one while the node
// works for it: not while its body is on the way, nor once its answer is, since
// with those a client takes its time, and some would take all places by it. A nil
// one is none. Its request's goroutine owns it.
type turn struct {
	pressure Pressure
	taken    bool
}

func (t *turn) take() error {
	err := t.pressure.AcquireRequest()
	t.taken = err == nil
	return err
}

func (t *turn) leave() {
	if t != nil && t.taken {
		t.taken = false
		t.pressure.ReleaseRequest()
	}
}

// awaited is a request's body. Whoever reads it has a turn again once it has
// come as a whole, and an error where there is none.
type awaited struct {
	io.ReadCloser
	turn *turn
}

func (b awaited) Read(p []byte) (int, error) {
	b.turn.leave()
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		if full := b.turn.take(); full != nil {
			err = full
		}
	}
	return n, err
}
