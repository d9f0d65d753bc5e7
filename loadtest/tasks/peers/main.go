// Command peers measures River as a durable queue: one queue, a worker that does nothing,
// and the settings of River's own benchmark. It fills the given empty database and prints
// one line of JSON. It is a separate module so that Laststand does not depend on River.
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

// options are the settings of a run, as in the benchmarks of the parent folder.
type options struct {
	database                  string
	conns, bytes, topics      int
	producers, singles, batch int
	workers                   int
	unique                    bool
}

// outcome is the output: tasks/s, and µs of processor time per task.
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
