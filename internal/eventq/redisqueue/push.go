package redisqueue

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"laststand/internal/eventq"
)

// Push implements eventq.Queue.
func (s *Store) Push(ctx context.Context, t eventq.Terms, p eventq.Push) (eventq.Pushed, error) {
	bundles := appendBundles(nil, p.Items)
	part := gamePartition(t.Game)
	told, id := part.once(p.ID), ""
	if inTurn(p) {
		told, id = part.pushed(p.From), p.ID
	}
	args := termArgs(t, p.Now, 8+len(bundles)+2*len(p.Refused)+len(p.Items))
	args = append(args, string(overflow(t, p.Posted)), len(p.Items), eventq.SeenForMS, s.maxSeen, onceMS, id, len(bundles)/2)
	args = append(append(args, bundles...), len(p.Refused))
	for reason, n := range p.Refused {
		args = append(args, counter(reason), n)
	}
	args = appendOnce(args, p.Items)
	verdict, err := pushScript.Run(ctx, s.client, part.of(t.Game, told), args...).Text()
	if err != nil {
		return eventq.Pushed{}, fmt.Errorf("redisqueue: push: %w", err)
	}
	if verdict == "full" {
		return eventq.Pushed{}, eventq.ErrFull
	}
	return readVerdict(verdict)
}

// inTurn says whether only the last push of its process to the game needs to be
// known again.
func inTurn(p eventq.Push) bool { return p.From != "" && (len(p.Items) == 0 || !p.Items[0].Once) }

// PushAll implements eventq.Queue, for queues that need nothing but the items.
func (s *Store) PushAll(ctx context.Context, all []eventq.GamePush) ([]eventq.Pushed, error) {
	part := newPartition(partitionOf(all[0].Terms.Game))
	keys := append(make([]string, 0, 2+2*len(all)), part.total(), part.pushed(all[0].Push.From))
	args := append(make([]any, 0, 2+8*len(all)), all[0].Push.Now, onceMS)
	for _, one := range all {
		t, p := one.Terms, one.Push
		bundles := appendBundles(nil, p.Items)
		keys = append(keys, part.queue(t.Game), part.state(t.Game))
		args = append(append(args, t.Game, p.ID, len(p.Items), t.BatchSize, t.MaxLen, len(bundles)/2), bundles...)
	}
	verdicts, err := pushesScript.Run(ctx, s.client, keys, args...).StringSlice()
	if err == nil && len(verdicts) != len(all) {
		err = fmt.Errorf("%d verdicts on %d", len(verdicts), len(all))
	}
	if err != nil {
		return nil, fmt.Errorf("redisqueue: push: %w", err)
	}
	pushed := make([]eventq.Pushed, len(all))
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

// appendOnce appends the ids of items that are taken once.
func appendOnce(args []any, items []eventq.Item) []any {
	for i := range items {
		if items[i].Once {
			args = append(args, packID(items[i].ID))
		}
	}
	return args
}

// overflow is what a full queue does with a push: only posts are refused.
func overflow(t eventq.Terms, posted bool) eventq.Overflow {
	if t.Overflow == eventq.Reject && !posted {
		return eventq.DropNewest
	}
	return t.Overflow
}

func readVerdict(verdict string) (eventq.Pushed, error) {
	var numbers [4]int
	for i := range numbers {
		number, rest, _ := strings.Cut(verdict, " ")
		n, err := strconv.Atoi(number)
		if err != nil {
			return eventq.Pushed{}, fmt.Errorf("redisqueue: push: its verdict: %w", err)
		}
		numbers[i], verdict = n, rest
	}
	pushed := eventq.Pushed{Queued: numbers[0], Length: numbers[3]}
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
