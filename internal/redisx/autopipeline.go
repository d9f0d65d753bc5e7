package redisx

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// maxQueued limits the scripts of one client that wait for a reply.
const maxQueued = 16_384

// autopipeline is a client whose EVALSHA commands share round trips. All other commands
// use the client directly. The library can share round trips for every command, but then a
// caller continues to wait after its context has ended. Here the caller returns then.
type autopipeline struct {
	redis.UniversalClient
	queue   *redis.AutoPipeliner
	waiting atomic.Int64 // scripts that wait for their reply
}

// newAutopipeline returns a client that works in rounds. In a round it sends all scripts
// that were called during the last round, and reads their replies. This wakes the fewest
// goroutines for the few, short scripts of players. By default the library also waits up to
// 2 ms for more scripts. That wait has no use here, because a caller rarely has another
// script to send immediately.
func newAutopipeline(client redis.UniversalClient) (*autopipeline, error) {
	options := redis.DefaultBlockingAutoPipelineOptions()
	options.MaxQueuedCommands = maxQueued
	options.MaxFlushDelay = time.Nanosecond // the smallest delay; 0 would mean the default
	return newAutopipelineWith(client, options)
}

// newStreamingAutopipeline returns a client that sends scripts while it reads the replies
// of others. It occupies one connection while scripts wait for replies. If maxQueued
// scripts are waiting, the next caller blocks.
func newStreamingAutopipeline(client redis.UniversalClient) (*autopipeline, error) {
	options := redis.DefaultBlockingAutoPipelineOptions()
	options.FullDuplex, options.FullDuplexWindow = true, maxQueued
	return newAutopipelineWith(client, options)
}

func newAutopipelineWith(client redis.UniversalClient, o *redis.AutoPipelineOptions) (*autopipeline, error) {
	queue, err := client.AsyncAutoPipelineWithOptions(o)
	if err != nil {
		return nil, fmt.Errorf("share round trips: %w", err)
	}
	return &autopipeline{UniversalClient: client, queue: queue}, nil
}

// EvalSha runs a script by its hash. redis.Script calls it first. If other scripts wait for
// their replies, it shares round trips with them. A lone script uses the client directly:
// handing it to the goroutine of the queue, and its reply back, would take longer. If the
// server does not know the script, the reply is NOSCRIPT. Then redis.Script calls Eval, which
// sends the whole script.
func (a *autopipeline) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	if err := ctx.Err(); err != nil {
		return failedCmd(ctx, err)
	}
	arguments := make([]any, 0, 3+len(keys)+len(args))
	arguments = append(arguments, "evalsha", sha, len(keys))
	for i := range keys {
		arguments = append(arguments, &keys[i]) // a pointer needs no memory of its own
	}
	cmd := redis.NewCmd(ctx, append(arguments, args...)...)
	defer a.waiting.Add(-1)
	if a.waiting.Add(1) == 1 {
		err := a.Process(ctx, cmd)
		if err != nil && ctx.Err() != nil {
			return failedCmd(ctx, ctx.Err())
		}
		return cmd
	}
	future := a.queue.Submit(ctx, cmd)
	if err := future.WaitContext(ctx); err != nil && ctx.Err() != nil {
		return failedCmd(ctx, ctx.Err()) // not cmd, because the queue may still write to it
	}
	return cmd
}

// failedCmd returns a command that has failed with err.
func failedCmd(ctx context.Context, err error) *redis.Cmd {
	cmd := redis.NewCmd(ctx, "evalsha")
	cmd.SetErr(err)
	return cmd
}
