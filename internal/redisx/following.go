package redisx

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// following has a cluster's client look who owns what as soon as a master does
// not answer. By itself the client would go on asking it for up to a minute:
// only a master that answers tells of its successor.
type following struct{ look func(context.Context) }

// DialHook implements redis.Hook.
func (f following) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (f following) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		f.heed(ctx, err)
		return err
	}
}

// ProcessPipelineHook implements redis.Hook.
func (f following) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		f.heed(ctx, err)
		return err
	}
}

func (f following) heed(ctx context.Context, err error) {
	if unanswered(err) {
		f.look(ctx)
	}
}

// unanswered says whether an error is nobody's answer, nor of our own making.
func unanswered(err error) bool {
	_, answered := errors.AsType[redis.Error](err)
	return err != nil && !answered && !errors.Is(err, context.Canceled) && !errors.Is(err, redis.ErrClosed)
}
