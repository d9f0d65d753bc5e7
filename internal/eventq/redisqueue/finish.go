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
// outcome as the first.
func (s *Store) Finish(ctx context.Context, t eventq.Policy, st eventq.BatchResult) error {
	total := st.Sent + int64(len(st.Requeue))
	var counters []any
	for _, reason := range eventq.Reasons() {
		if n := st.Dropped[reason]; n > 0 {
			counters = append(counters, counter(reason), n)
			total += n
		}
	}
	back := appendBundles(nil, st.Requeue)
	slices.Reverse(back) // the script prepends each, so the first must come last
	args := append(policyArgs(t, st.Now, 7+len(counters)+len(st.ForgetIDs)+len(back)),
		st.Batch, resultMarker(st), total, st.Sent, st.Unused, len(counters)/2)
	args = append(args, counters...)
	args = append(args, len(st.ForgetIDs))
	for _, id := range st.ForgetIDs {
		args = append(args, escapeID(id))
	}
	args = append(args, back...)

	part := gamePartition(t.Game)
	sc := finishScript
	if len(st.Requeue) > 0 || st.Unused {
		sc = requeueScript
	}
	return readFinished(sc.Run(ctx, s.client, part.keysOf(t.Game, part.taken(), part.batch(st.Batch)), args...).Result())
}

// FinishSent implements eventq.Queue.
func (s *Store) FinishSent(ctx context.Context, t eventq.Policy, all []eventq.BatchResult) error {
	part := gamePartition(t.Game)
	keys, args := part.keysOf(t.Game, part.taken()), append(make([]any, 0, 1+3*len(all)), t.Game)
	for _, st := range all {
		keys = append(keys, part.batch(st.Batch))
		args = append(args, st.Batch, st.Sent, resultMarker(st))
	}
	return readFinished(finishSentScript.Run(ctx, s.client, keys, args...).Result())
}

// readFinished reads the reply of a script that finishes batches.
func readFinished(notInFlight any, err error) error {
	if err != nil && !errors.Is(err, redis.Nil) {
		return fmt.Errorf("redisqueue: settle: %w", err)
	}
	if notInFlight != nil {
		return eventq.ErrNotInFlight
	}
	return nil
}

// resultMarker tells results of a batch apart, and from a batch.
func resultMarker(st eventq.BatchResult) string {
	text := strconv.AppendInt(nil, st.Sent, 10)
	for _, reason := range eventq.Reasons() {
		text = strconv.AppendInt(append(text, ' '), st.Dropped[reason], 10)
	}
	text = strconv.AppendBool(append(text, ' '), st.Unused)
	for i := range st.Requeue {
		text = append(append(text, ' '), escapeID(st.Requeue[i].ID)...)
	}
	h := fnv.New64a()
	h.Write(text)
	return fmt.Sprintf("settled %016x", h.Sum64())
}
