package bench

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

const (
	stream = "events"
	group  = "reporters"
)

// streams is one stream for the events of all games, with a consumer group.
type streams struct {
	rdb       *redis.Client
	flow      *flow
	games     []string
	pipelined bool // one round trip per chunk of events
}

func openStreams(pipelined bool) func(*testing.B, *redis.Client, *flow) way {
	return func(b *testing.B, rdb *redis.Client, f *flow) way {
		if err := rdb.XGroupCreateMkStream(b.Context(), stream, group, "0").Err(); err != nil {
			b.Fatal(err)
		}
		return &streams{rdb: rdb, flow: f, games: gameNames(*games), pipelined: pipelined}
	}
}

func (s *streams) offer(ctx context.Context, games []int) error {
	if !s.pipelined {
		for _, game := range games {
			if err := s.add(ctx, s.rdb, game).Err(); err != nil {
				return err
			}
		}
		return nil
	}
	_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, game := range games {
			s.add(ctx, p, game)
		}
		return nil
	})
	return err
}

// add bounds the stream well above the window, since the stream keeps acknowledged entries
// until the bound removes them.
func (s *streams) add(ctx context.Context, to redis.Cmdable, game int) *redis.StringCmd {
	return to.XAdd(ctx, &redis.XAddArgs{
		Stream: stream, MaxLen: 2 * *backlog, Approx: true, Values: []string{"game", s.games[game], "event", newEvent()},
	})
}

func (s *streams) report(ctx context.Context) error {
	var reporters errgroup.Group
	for i := range *consumers {
		reporters.Go(func() error {
			for ctx.Err() == nil {
				if err := s.read(context.WithoutCancel(ctx), fmt.Sprint(i)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return reporters.Wait()
}

func (s *streams) read(ctx context.Context, consumer string) error {
	read, err := s.rdb.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: group, Consumer: consumer, Streams: []string{stream, ">"}, Count: batch, Block: 100 * time.Millisecond,
	}).Result()
	if errors.Is(err, redis.Nil) {
		return nil
	}
	if err != nil {
		return err
	}
	messages := read[0].Messages
	ids := make([]string, len(messages))
	for i, m := range messages {
		ids[i] = m.ID
	}
	if err := s.rdb.XAck(ctx, stream, group, ids...).Err(); err != nil {
		return err
	}
	s.flow.arrived(len(messages), func(i int) int64 {
		event, _ := messages[i].Values["event"].(string)
		return offeredAt(event)
	})
	return nil
}

// lost returns 0. The bound removes only acknowledged entries. An entry lost without an
// acknowledgement shows up as an event that did not arrive.
func (s *streams) lost(context.Context) (int64, error) { return 0, nil }
