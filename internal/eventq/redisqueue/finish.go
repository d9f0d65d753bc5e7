package redisqueue

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"laststand/internal/eventq"
)

// Finish implements eventq.Queue. For keepLateMS, a repeated call has the same
// outcome as the first. Requeued items may exceed the limit, as in Push.
func (s *Store) Finish(ctx context.Context, t eventq.Policy, st eventq.BatchResult) error {
	var counters []any
	for _, reason := range eventq.Reasons() {
		if n := st.Dropped[reason]; n > 0 {
			counters = append(counters, counter(reason), n)
		}
	}
	bundles := appendBundles(nil, st.Requeue)
	slices.Reverse(bundles) // the script prepends each, so the first must come last
	args := append(queueArgs(t, st.Now, 8+len(counters)+len(st.ForgetIDs)+len(bundles)),
		st.Batch, resultMarker(st), st.Sent, st.Left, st.Unused, queueTTL(t), len(counters)/2, len(st.ForgetIDs))
	args = append(args, counters...)
	for _, id := range st.ForgetIDs {
		args = append(args, escapeID(id))
	}
	args = append(args, bundles...)

	part := gamePartition(t.Game)
	keys := append(part.batchKeys(t.Game, st.Batch), part.seen(t.Game))
	notInFlight, err := finishScript.Run(ctx, s.client, keys, args...).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return fmt.Errorf("redisqueue: finish: %w", err)
	}
	if notInFlight != nil {
		return eventq.ErrNotInFlight
	}
	if len(st.Requeue) > 0 {
		_ = s.shrink(ctx, t)
	}
	return nil
}

// resultMarker tells results of a batch apart.
func resultMarker(st eventq.BatchResult) string {
	text := strconv.AppendInt(nil, st.Sent, 10)
	for _, reason := range eventq.Reasons() {
		text = strconv.AppendInt(append(text, ' '), st.Dropped[reason], 10)
	}
	text = strconv.AppendInt(append(text, ' '), st.Left, 10)
	text = strconv.AppendInt(append(text, ' '), int64(st.Unused), 10)
	for i := range st.Requeue {
		text = append(append(text, ' '), escapeID(st.Requeue[i].ID)...)
	}
	h := fnv.New64a()
	h.Write(text)
	return fmt.Sprintf("%016x", h.Sum64())
}
