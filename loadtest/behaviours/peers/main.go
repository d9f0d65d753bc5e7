// Command peers measures asynq as a queue of behaviours. Each event is a task with the type
// of its game, in one queue, and the handler only counts. The command empties the given
// Redis and prints one line of JSON. It is a separate module so that Laststand does not
// depend on asynq.
//
//	go run . -redis 127.0.0.1:6379
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
)

// options are the settings of a run, as in the benchmarks of the parent folder.
type options struct {
	redis            string
	games, bytes     int
	producers        int
	window           int64
	warming, seconds time.Duration
}

// outcome is the output. Processor times are in µs per event.
type outcome struct {
	Way      string  `json:"way"`
	Offered  int64   `json:"offered"`
	Reported int64   `json:"reported"`
	Rate     float64 `json:"events_per_second"`
	Process  float64 `json:"process_us"`
	Redis    float64 `json:"redis_us"`
	P50      float64 `json:"p50_ms"`
	P99      float64 `json:"p99_ms"`
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var o options
	flag.StringVar(&o.redis, "redis", "127.0.0.1:6379", "address of a Redis, which is emptied")
	flag.IntVar(&o.games, "games", 1000, "that events belong to, by Zipf's law")
	flag.IntVar(&o.bytes, "bytes", 200, "of an event, at least 13")
	flag.IntVar(&o.producers, "producers", 64, "that offer at once, and as many tasks are handled at once")
	flag.Int64Var(&o.window, "window", 30_000, "events that are on their way at the most")
	flag.DurationVar(&o.warming, "warming", 2*time.Second, "before it is measured")
	flag.DurationVar(&o.seconds, "seconds", 5*time.Second, "that are measured")
	flag.Parse()

	rdb := redis.NewClient(&redis.Options{Addr: o.redis})
	defer rdb.Close()
	if err := rdb.FlushAll(ctx).Err(); err != nil {
		return err
	}
	out, err := measure(ctx, rdb, o)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}
