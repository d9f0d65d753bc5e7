package redisx

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// maxQueued bounds the scripts that wait for their reply together.
const maxQueued = 16_384

// sharing is a client whose EVALSHA share round trips. The library offers that
// for every command, but then a caller waits on though its context has ended:
// here it does not, and everything else stays on the client.
type sharing struct {
	redis.UniversalClient
	queue *redis.AutoPipeliner
}

// share writes the scripts that have come while others were under way together,
// and reads their replies before it writes again: of few and short ones, as
// players' are, that wakes the fewest goroutines. By itself the library also waits
// for 0.2 to 2 ms, after scripts that went together for as many to come again, and
// while others are under way for more to come; but whoever ran them has no more to
// ask as a rule, and those who come instead wait in vain.
func share(client redis.UniversalClient) (*sharing, error) {
	o := redis.DefaultBlockingAutoPipelineOptions()
	o.MaxQueuedCommands = maxQueued
	o.MaxFlushDelay = time.Nanosecond // instead of that; for none it is that
	return shareBy(client, o)
}

// stream writes scripts on while it reads the replies of others, on a connection
// that it holds while there are some. With as many under way a further one waits.
func stream(client redis.UniversalClient) (*sharing, error) {
	o := redis.DefaultBlockingAutoPipelineOptions()
	o.FullDuplex, o.FullDuplexWindow = true, maxQueued
	return shareBy(client, o)
}

func shareBy(client redis.UniversalClient, o *redis.AutoPipelineOptions) (*sharing, error) {
	queue, err := client.AsyncAutoPipelineWithOptions(o)
	if err != nil {
		return nil, fmt.Errorf("share round trips: %w", err)
	}
	return &sharing{UniversalClient: client, queue: queue}, nil
}

// EvalSha is what redis.Script runs first. A script that the server does not
// know comes back as NOSCRIPT, and redis.Script then sends it by Eval.
func (s *sharing) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	if err := ctx.Err(); err != nil {
		return failed(ctx, err)
	}
	words := make([]any, 0, 3+len(keys)+len(args))
	words = append(words, "evalsha", sha, len(keys))
	for _, key := range keys {
		words = append(words, key)
	}
	cmd := redis.NewCmd(ctx, append(words, args...)...)
	future := s.queue.Submit(ctx, cmd)
	if err := future.WaitContext(ctx); err != nil && ctx.Err() != nil {
		return failed(ctx, ctx.Err()) // cmd is still the queue's: it may be written to at any time
	}
	return cmd
}

func failed(ctx context.Context, err error) *redis.Cmd {
	cmd := redis.NewCmd(ctx, "evalsha")
	cmd.SetErr(err)
	return cmd
}
