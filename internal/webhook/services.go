package webhook

import (
	"context"
	"time"

	"laststand/internal/loop"
	"laststand/internal/taskqueue"
)

const (
	refreshInterval = 10 * time.Second // between two reads of the states, which other nodes may change

	concurrentDeliveries = 128 // concurrent attempts per node; an endpoint gets at most slotsPerEndpoint
	concurrentSeals      = 2   // concurrent tasks of SealedDayKind per node
)

// deliveryBackoff is the retry delay of deliveries, see maxAttempts.
var deliveryBackoff = taskqueue.Backoff{First: 5 * time.Second, Max: 6 * time.Hour}

// Services returns the services that handle the tasks of the Registry, for the task
// queue.
func (d *Dispatcher) Services() []taskqueue.KindConfig {
	return []taskqueue.KindConfig{
		{Kind: DeliveryKind, Handle: d.deliver, Concurrency: concurrentDeliveries, Backoff: deliveryBackoff},
		{Kind: SealedDayKind, Handle: d.enqueueSealedDay, Concurrency: concurrentSeals},
	}
}

// Run refreshes the states of endpoints, which other nodes may change, until the
// context ends.
func (d *Dispatcher) Run(ctx context.Context) error {
	if len(d.Registry.byTopic) == 0 {
		<-ctx.Done()
		return nil
	}
	refresh := loop.LogFailures(d.Logger, "read of the states of webhook endpoints", d.refreshStates)
	refresh(ctx)
	loop.Every(ctx, refreshInterval, refresh)
	return nil
}
