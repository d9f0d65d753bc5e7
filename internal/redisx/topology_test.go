package redisx

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"
)

// serverError is an error that a server has returned.
type serverError string

func (e serverError) Error() string { return string(e) }
func (serverError) RedisError()     {}

func TestTopologyIsRefreshedAfterACallWithoutReply(t *testing.T) {
	t.Parallel()
	tests := map[error]bool{
		nil:                      false,
		redis.Nil:                false,
		serverError("ERR no"):    false,
		context.Canceled:         false,
		redis.ErrClosed:          false,
		io.EOF:                   true,
		context.DeadlineExceeded: true,
		&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}: true,
		fmt.Errorf("after two tries: %w", io.EOF):             true,
	}
	for err, want := range tests {
		refreshes := 0
		refresher := topologyRefresher{func(context.Context) { refreshes++ }}
		process := refresher.ProcessHook(func(context.Context, redis.Cmder) error { return err })
		pipeline := refresher.ProcessPipelineHook(func(context.Context, []redis.Cmder) error { return err })
		if process(t.Context(), nil) != err || pipeline(t.Context(), nil) != err { //nolint:errorlint // the identical error
			t.Errorf("%v became another error", err)
		}
		if want != (refreshes == 2) || !want && refreshes > 0 {
			t.Errorf("%v: refreshed %d times after two calls", err, refreshes)
		}
	}
}
