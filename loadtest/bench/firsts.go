package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"laststand/loadtest/report"
)

// decideFunc decides whether an answer is the first one. The key holds 1 before.
type decideFunc func(ctx context.Context, client *redis.Client, key string) error

// decideByWatch decides by WATCH, GET, MULTI, DECR and EXEC.
func decideByWatch(ctx context.Context, client *redis.Client, key string) error {
	for {
		err := client.Watch(ctx, func(tx *redis.Tx) error {
			if n, err := tx.Get(ctx, key).Int(); err != nil || n < 1 {
				return err
			}
			_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Decr(ctx, key).Err() })
			return err
		}, key)
		if !errors.Is(err, redis.TxFailedErr) {
			return err
		}
	}
}

var decrement = redis.NewScript(`
if tonumber(redis.call('GET', KEYS[1])) < 1 then return 0 end
redis.call('DECR', KEYS[1])
return 1`)

// decideByScript decides by a script that compares and decrements.
func decideByScript(ctx context.Context, client *redis.Client, key string) error {
	return decrement.Run(ctx, client, []string{key}).Err()
}

// questionsTimes is how many times more questions decideAnswers asks than a match. Otherwise a run
// would be too short.
const questionsTimes = 40

// decideAnswers lets one goroutine per player race for each question.
func decideAnswers(ctx context.Context, c *cluster, o playOptions, decide decideFunc) (m measurement, err error) {
	latencies := report.NewRecorder(playTimeout)
	if m.from, err = c.readUsage(ctx); err != nil {
		return m, err
	}
	for question := range questionsTimes * o.questions {
		key := fmt.Sprintf("first:%d", question)
		if err := c.masters[0].Set(ctx, key, 1, time.Minute).Err(); err != nil {
			return m, err
		}
		var racing errgroup.Group
		for range o.players {
			racing.Go(func() error {
				start := time.Now()
				err := decide(ctx, c.masters[0], key)
				latencies.Add(answered, time.Since(start))
				return err
			})
		}
		if err := racing.Wait(); err != nil {
			return m, err
		}
	}
	m.to, err = c.readUsage(ctx)
	m.answers = latencies.Take().Quantiles(answered)
	return m, err
}
