package redisx

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// topologyRefresher is a hook that makes a cluster client reload the owners of slots as
// soon as a master does not answer. By default the client could call a dead master for up
// to a minute, because the client learns of a new owner only from masters that answer.
type topologyRefresher struct{ refresh func(context.Context) }

// DialHook changes nothing.
func (t topologyRefresher) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook reloads the owners after a command without an answer.
func (t topologyRefresher) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		t.refreshAfter(ctx, err)
		return err
	}
}

// ProcessPipelineHook reloads the owners after a pipeline without an answer.
func (t topologyRefresher) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		t.refreshAfter(ctx, err)
		return err
	}
}

func (t topologyRefresher) refreshAfter(ctx context.Context, err error) {
	if isUnanswered(err) {
		t.refresh(ctx)
	}
}

// isUnanswered reports whether an error is neither a server's answer nor caused by this
// process.
func isUnanswered(err error) bool {
	_, answered := errors.AsType[redis.Error](err)
	return err != nil && !answered && !errors.Is(err, context.Canceled) && !errors.Is(err, redis.ErrClosed)
}
