package redisx

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// maxQueued bounds the scripts that wait for a reply.
const maxQueued = 16_384

// autopipeline is a client whose EVALSHA commands share round trips. The library can do
// this for every command, but then a caller waits although its context has ended. Here
// it does not wait, and other commands use the client directly.
type autopipeline struct {
	redis.UniversalClient
	queue *redis.AutoPipeliner
}

// newAutopipeline sends together the scripts that came while others were running, and
// reads their replies before it sends again. This wakes the fewest goroutines for the
// few, short scripts of players. By default the library also waits up to 2 ms for more
// scripts. That wait has no use here, because a caller rarely has another script at
// once.
func newAutopipeline(client redis.UniversalClient) (*autopipeline, error) {
	o := redis.DefaultBlockingAutoPipelineOptions()
	o.MaxQueuedCommands = maxQueued
	o.MaxFlushDelay = time.Nanosecond // the smallest delay; 0 would mean the default
	return newAutopipelineWith(client, o)
}

// newStreamingAutopipeline sends scripts while it reads the replies of others. It holds
// one connection while scripts are waiting. If maxQueued scripts are waiting, another
// one waits.
func newStreamingAutopipeline(client redis.UniversalClient) (*autopipeline, error) {
	o := redis.DefaultBlockingAutoPipelineOptions()
	o.FullDuplex, o.FullDuplexWindow = true, maxQueued
	return newAutopipelineWith(client, o)
}

func newAutopipelineWith(client redis.UniversalClient, o *redis.AutoPipelineOptions) (*autopipeline, error) {
	queue, err := client.AsyncAutoPipelineWithOptions(o)
	if err != nil {
		return nil, fmt.Errorf("share round trips: %w", err)
	}
	return &autopipeline{UniversalClient: client, queue: queue}, nil
}

// EvalSha is the first command of redis.Script. If the server does not know the script,
// the reply is NOSCRIPT, and redis.Script sends the script with Eval.
func (s *autopipeline) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
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
		return failed(ctx, ctx.Err()) // the queue still owns cmd and may write to it
	}
	return cmd
}

func failed(ctx context.Context, err error) *redis.Cmd {
	cmd := redis.NewCmd(ctx, "evalsha")
	cmd.SetErr(err)
	return cmd
}
