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

// Settle implements eventq.Queue. For staleMS the same settlement comes out
// as the first did.
func (s *Store) Settle(ctx context.Context, t eventq.Terms, st eventq.Settlement) error {
	total := st.Sent + int64(len(st.Back))
	var counters []any
	for _, reason := range eventq.Reasons() {
		if n := st.Dropped[reason]; n > 0 {
			counters = append(counters, counter(reason), n)
			total += n
		}
	}
	back := appendBundles(nil, st.Back)
	slices.Reverse(back) // what is put before all others comes last
	args := append(termArgs(t, st.Now, 7+len(counters)+len(st.Forget)+len(back)),
		st.Batch, settledAs(st), total, st.Sent, st.Unused, len(counters)/2)
	args = append(args, counters...)
	args = append(args, len(st.Forget))
	for _, id := range st.Forget {
		args = append(args, packID(id))
	}
	args = append(args, back...)

	part := gamePartition(t.Game)
	sc := settleScript
	if len(st.Back) > 0 || st.Unused {
		sc = backScript
	}
	return settled(sc.Run(ctx, s.client, part.of(t.Game, part.taken(), part.batch(st.Batch)), args...).Result())
}

// SettleSent implements eventq.Queue.
func (s *Store) SettleSent(ctx context.Context, t eventq.Terms, all []eventq.Settlement) error {
	part := gamePartition(t.Game)
	keys, args := part.of(t.Game, part.taken()), append(make([]any, 0, 1+3*len(all)), t.Game)
	for _, st := range all {
		keys = append(keys, part.batch(st.Batch))
		args = append(args, st.Batch, st.Sent, settledAs(st))
	}
	return settled(sentScript.Run(ctx, s.client, keys, args...).Result())
}

// settled reads the reply of a script that settles.
func settled(gone any, err error) error {
	if err != nil && !errors.Is(err, redis.Nil) {
		return fmt.Errorf("redisqueue: settle: %w", err)
	}
	if gone != nil {
		return eventq.ErrGone
	}
	return nil
}

// settledAs tells settlements of a batch apart, and from a batch.
func settledAs(st eventq.Settlement) string {
	text := strconv.AppendInt(nil, st.Sent, 10)
	for _, reason := range eventq.Reasons() {
		text = strconv.AppendInt(append(text, ' '), st.Dropped[reason], 10)
	}
	text = strconv.AppendBool(append(text, ' '), st.Unused)
	for i := range st.Back {
		text = append(append(text, ' '), packID(st.Back[i].ID)...)
	}
	h := fnv.New64a()
	h.Write(text)
	return fmt.Sprintf("settled %016x", h.Sum64())
}
