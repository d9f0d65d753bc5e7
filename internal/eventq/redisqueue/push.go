package redisqueue

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"laststand/internal/eventq"
)

// Push implements eventq.Queue.
func (s *Store) Push(ctx context.Context, t eventq.Policy, p eventq.Push) (eventq.PushResult, error) {
	bundles := appendBundles(nil, p.Items)
	part := gamePartition(t.Game)
	replyKey, id := part.reply(p.ID), ""
	if isOrdered(p) {
		replyKey, id = part.lastPushes(p.From), p.ID
	}
	args := policyArgs(t, p.Now, 8+len(bundles)+2*len(p.Refused)+len(p.Items))
	args = append(args, string(overflow(t, p.Posted)), len(p.Items), eventq.DedupeWindowMS, s.maxSeen, repeatMS, id, len(bundles)/2)
	args = append(append(args, bundles...), len(p.Refused))
	for reason, n := range p.Refused {
		args = append(args, counter(reason), n)
	}
	args = appendOnce(args, p.Items)
	verdict, err := pushScript.Run(ctx, s.client, part.keysOf(t.Game, replyKey), args...).Text()
	if err != nil {
		return eventq.PushResult{}, fmt.Errorf("redisqueue: push: %w", err)
	}
	if verdict == "full" {
		return eventq.PushResult{}, eventq.ErrFull
	}
	return readVerdict(verdict)
}

// isOrdered reports whether the store must recognize only the last push of the
// process to the game.
func isOrdered(p eventq.Push) bool { return p.From != "" && (len(p.Items) == 0 || !p.Items[0].Unique) }

// PushAll implements eventq.Queue, for queues that need only the items.
func (s *Store) PushAll(ctx context.Context, all []eventq.GamePush) ([]eventq.PushResult, error) {
	part := newPartition(partitionOf(all[0].Policy.Game))
	keys := append(make([]string, 0, 2+2*len(all)), part.total(), part.lastPushes(all[0].Push.From))
	args := append(make([]any, 0, 2+8*len(all)), all[0].Push.Now, repeatMS)
	for _, one := range all {
		t, p := one.Policy, one.Push
		bundles := appendBundles(nil, p.Items)
		keys = append(keys, part.queue(t.Game), part.state(t.Game))
		args = append(append(args, t.Game, p.ID, len(p.Items), t.BatchSize, t.MaxLen, len(bundles)/2), bundles...)
	}
	verdicts, err := pushSeveralScript.Run(ctx, s.client, keys, args...).StringSlice()
	if err == nil && len(verdicts) != len(all) {
		err = fmt.Errorf("%d verdicts on %d", len(verdicts), len(all))
	}
	if err != nil {
		return nil, fmt.Errorf("redisqueue: push: %w", err)
	}
	pushed := make([]eventq.PushResult, len(all))
	for i, verdict := range verdicts {
		if verdict == "" {
			continue
		}
		if pushed[i], err = readVerdict(verdict); err != nil {
			return nil, err
		}
	}
	return pushed, nil
}

// appendOnce appends the ids of unique items.
func appendOnce(args []any, items []eventq.Item) []any {
	for i := range items {
		if items[i].Unique {
			args = append(args, escapeID(items[i].ID))
		}
	}
	return args
}

// overflow returns what a full queue does with a push. It refuses only posts.
func overflow(t eventq.Policy, posted bool) eventq.Overflow {
	if t.Overflow == eventq.Reject && !posted {
		return eventq.DropNewest
	}
	return t.Overflow
}

func readVerdict(verdict string) (eventq.PushResult, error) {
	var numbers [4]int
	for i := range numbers {
		number, rest, _ := strings.Cut(verdict, " ")
		n, err := strconv.Atoi(number)
		if err != nil {
			return eventq.PushResult{}, fmt.Errorf("redisqueue: push: its verdict: %w", err)
		}
		numbers[i], verdict = n, rest
	}
	pushed := eventq.PushResult{Queued: numbers[0], Length: numbers[3]}
	if full, duplicate := numbers[1], numbers[2]; full+duplicate > 0 {
		pushed.Dropped = map[eventq.Reason]int64{}
		for reason, n := range map[eventq.Reason]int{eventq.QueueFull: full, eventq.Duplicate: duplicate} {
			if n > 0 {
				pushed.Dropped[reason] = int64(n)
			}
		}
	}
	return pushed, nil
}
