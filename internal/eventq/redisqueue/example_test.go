package redisqueue_test

import (
	"context"
	"fmt"

	"laststand/internal/eventq"
	"laststand/internal/eventq/redisqueue"
	"laststand/internal/redisx"
)

// The queue serves as a bounded first-in-first-out log. Entries go in at the end. If
// there are too many, the oldest are dropped. A reader peeks at them or takes them out.
func Example() {
	ctx := context.Background()
	embedded, err := redisx.Open(ctx, redisx.Config{})
	if err != nil {
		panic(err)
	}
	defer embedded.Close()
	log := redisqueue.New(embedded.Bulk)
	audit := eventq.Policy{Game: "audit", MaxLen: 3, Overflow: eventq.DropOldest, BatchSize: 2, MaxAgeMS: eventq.MaxAgeMS}

	now := int64(1795212345678)
	push := eventq.Push{ID: "push 1", Now: now}
	for _, text := range []string{"opened", "read", "written", "closed"} {
		entry := fmt.Sprintf(`{"text":%q}`, text)
		push.Items = append(push.Items, eventq.Item{ID: text, At: now, QueuedAt: now, Body: []byte(entry)})
	}
	if _, err := log.Push(ctx, audit, push); err != nil {
		panic(err)
	}
	show := func(operation string, items []eventq.Item, err error) {
		if err != nil {
			panic(err)
		}
		for _, entry := range items {
			fmt.Printf("%s %s\n", operation, entry.Body)
		}
	}
	peeked, err := log.Peek(ctx, "audit", 10)
	show("there is", peeked, err)

	batch := "batch 1"
	taken, err := log.Take(ctx, audit, eventq.Take{Batch: batch, Messages: 1, Now: now, Lease: 20_000})
	show("taken", taken.Items, err)
	done := eventq.BatchResult{Batch: batch, Sent: int64(len(taken.Items)), Now: now}
	if err := log.Finish(ctx, audit, done); err != nil {
		panic(err)
	}
	counted, err := log.Status(ctx, []string{"audit"}, now)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%+v\n", counted[0].Counts)
	// Output:
	// there is {"text":"read"}
	// there is {"text":"written"}
	// there is {"text":"closed"}
	// taken {"text":"read"}
	// taken {"text":"written"}
	// {Offered:4 Sent:2 Dropped:map[queue_full:1] Queued:1 InFlight:0}
}
