package testenv

import (
	"context"
	"sync"
	"testing"
)

// Run starts run. The returned function ends the context of run and waits for it. The
// test fails if run returns an error. At the end of the test, its cleanup calls the function.
func Run(t testing.TB, run func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }() // stop waits for it
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}
