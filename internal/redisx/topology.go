package redisx

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// topologyRefresher makes a cluster client reload the owners of slots as soon as a
// master does not answer. By default the client could ask a dead master for up to a
// minute, because only masters that answer tell about their successors.
type topologyRefresher struct{ refresh func(context.Context) }

// DialHook implements redis.Hook.
func (f topologyRefresher) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (f topologyRefresher) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		f.refreshAfter(ctx, err)
		return err
	}
}

// ProcessPipelineHook implements redis.Hook.
func (f topologyRefresher) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		f.refreshAfter(ctx, err)
		return err
	}
}

func (f topologyRefresher) refreshAfter(ctx context.Context, err error) {
	if isUnanswered(err) {
		f.refresh(ctx)
	}
}

// isUnanswered reports whether an error is neither a server's answer nor caused by this
// process.
func isUnanswered(err error) bool {
	_, answered := errors.AsType[redis.Error](err)
	return err != nil && !answered && !errors.Is(err, context.Canceled) && !errors.Is(err, redis.ErrClosed)
}
