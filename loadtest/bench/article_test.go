package bench

import (
	"context"
	_ "embed"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

var (
	//go:embed article_push.lua
	pushText string
	//go:embed article_pull.lua
	pullText string

	pushScript = redis.NewScript(pushText)
	pullScript = redis.NewScript(pullText)
)

const (
	active    = "active"     // the list of games that have events, walked in a circle
	activeSet = "active:set" // the same games, to keep the list free of duplicates
	batch     = 128
	keptMS    = 180_000
	rest      = time.Millisecond // pause of a consumer that found fewer events than it had room for
	hot       = 8                // games with a consumer of their own: the first games, which are the busiest
)

// article is the queue of the article: one script call per event and one per batch. Three
// changes favour it. The check whether the game is in the list is in the same round trip as
// the event. The queue knows the hot games in advance. Its consumers pause when they find
// nothing.
type article struct {
	rdb     *redis.Client
	flow    *flow
	keys    []string
	evicted atomic.Int64
}

func openArticle(b *testing.B, rdb *redis.Client, f *flow) way {
	for _, s := range []*redis.Script{pushScript, pullScript} {
		if err := s.Load(b.Context(), rdb).Err(); err != nil {
			b.Fatal(err)
		}
	}
	return &article{rdb: rdb, flow: f, keys: gameNames(*games)}
}

func (a *article) offer(ctx context.Context, games []int) error {
	for _, game := range games {
		if err := a.push(ctx, a.keys[game]); err != nil {
			return err
		}
	}
	return nil
}

func (a *article) push(ctx context.Context, key string) error {
	pipe := a.rdb.Pipeline()
	pushed := pushScript.EvalSha(ctx, pipe, []string{key}, newEvent(), *backlog, keptMS)
	known := pipe.SIsMember(ctx, activeSet, key)
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	if n, err := pushed.Int64(); err != nil {
		return err
	} else if n > 0 {
		a.evicted.Add(n)
	}
	if known.Val() {
		return nil
	}
	if added, err := a.rdb.SAdd(ctx, activeSet, key).Result(); err != nil || added == 0 {
		return err
	}
	return a.rdb.RPush(ctx, active, key).Err()
}

func (a *article) report(ctx context.Context) error {
	var group errgroup.Group
	for range *consumers {
		group.Go(func() error { return consume(ctx, a.pullNext, 1) })
	}
	for _, key := range a.keys[:min(hot, len(a.keys))] {
		pull := func(ctx context.Context) (int, error) { return a.pull(ctx, key) }
		group.Go(func() error { return consume(ctx, pull, batch) })
	}
	return group.Wait()
}

// consume pulls until ctx ends. It pauses after a pull that returned fewer than enough
// events.
func consume(ctx context.Context, pull func(context.Context) (int, error), enough int) error {
	for ctx.Err() == nil {
		n, err := pull(context.WithoutCancel(ctx))
		if err != nil {
			return err
		}
		if n < enough {
			time.Sleep(rest)
		}
	}
	return nil
}

// pullNext takes a batch from the next game in the circle.
func (a *article) pullNext(ctx context.Context) (int, error) {
	key, err := a.rdb.LMove(ctx, active, active, "RIGHT", "LEFT").Result()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return a.pull(ctx, key)
}

func (a *article) pull(ctx context.Context, key string) (int, error) {
	events, err := pullScript.EvalSha(ctx, a.rdb, []string{key}, batch).StringSlice()
	if err != nil || len(events) == 0 {
		return 0, err
	}
	a.flow.arrived(len(events), func(i int) int64 { return offeredAt(events[i]) })
	return len(events), nil
}

func (a *article) lost(context.Context) (int64, error) { return a.evicted.Load(), nil }
