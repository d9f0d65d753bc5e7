// Command peers measures River as a durable queue: one queue, a worker that does
// nothing, the settings of River's own benchmark. It fills the empty database
// that it is given, and prints one line of JSON. It is a module of its own so
// that ours does not depend on what it is measured against.
//
//	go run . -database postgres://postgres@127.0.0.1/empty
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
)

// options are what a run is made of: the same as of the benchmarks around it.
type options struct {
	database                  string
	conns, bytes, topics      int
	producers, singles, batch int
	workers                   int
	unique                    bool
}

// outcome is what is printed: tasks/s, and µs of processor time a task.
type outcome struct {
	Single  float64 `json:"single_per_second"`
	Batch   float64 `json:"batch_per_second"`
	Work    float64 `json:"work_per_second"`
	Process float64 `json:"process_us"`
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var o options
	flag.StringVar(&o.database, "database", "", "URL of an empty PostgreSQL database")
	flag.IntVar(&o.conns, "conns", 64, "connections to it")
	flag.IntVar(&o.bytes, "bytes", 200, "of a task")
	flag.IntVar(&o.topics, "topics", 1000, "that tasks name in turn")
	flag.IntVar(&o.producers, "producers", 64, "that enqueue one task a call at once")
	flag.IntVar(&o.singles, "singles", 20_000, "tasks that are enqueued one a call")
	flag.IntVar(&o.batch, "batched", 100_000, "tasks that are enqueued 100 a call by 4 at once")
	flag.IntVar(&o.workers, "workers", 1000, "tasks that are worked at once")
	flag.BoolVar(&o.unique, "unique", false, "each key is taken once")
	flag.Parse()

	out, err := measure(ctx, o)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}
