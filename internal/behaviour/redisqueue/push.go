package redisqueue

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"laststand/internal/behaviour"
)

// Push implements behaviour.Queue.
func (s *Store) Push(ctx context.Context, t behaviour.Terms, p behaviour.Push) (behaviour.Pushed, error) {
	bundles := appendBundles(nil, p.Items)
	args := termArgs(t, p.Now, 7+len(bundles)+2*len(p.Refused)+len(p.Items))
	args = append(args, string(overflow(t, p.Posted)), len(p.Items), behaviour.SeenForMS, s.maxSeen, onceMS, len(bundles)/2)
	args = append(append(args, bundles...), len(p.Refused))
	for reason, n := range p.Refused {
		args = append(args, counter(reason), n)
	}
	args = appendOnce(args, p.Items)
	part := newPartition(partitionOf(t.Game))
	verdict, err := pushScript.Run(ctx, s.client, part.of(t.Game, part.once(p.ID)), args...).Text()
	if err != nil {
		return behaviour.Pushed{}, fmt.Errorf("redisqueue: push: %w", err)
	}
	if verdict == "full" {
		return behaviour.Pushed{}, behaviour.ErrFull
	}
	return readVerdict(verdict)
}

// appendOnce appends the ids of items that are taken once.
func appendOnce(args []any, items []behaviour.Item) []any {
	for i := range items {
		if items[i].Once {
			args = append(args, packID(items[i].ID))
		}
	}
	return args
}

// overflow is what a full queue does with a push: only posts are refused.
func overflow(t behaviour.Terms, posted bool) behaviour.Overflow {
	if t.Overflow == behaviour.Reject && !posted {
		return behaviour.DropNewest
	}
	return t.Overflow
}

func readVerdict(verdict string) (behaviour.Pushed, error) {
	var numbers [4]int
	for i := range numbers {
		number, rest, _ := strings.Cut(verdict, " ")
		n, err := strconv.Atoi(number)
		if err != nil {
			return behaviour.Pushed{}, fmt.Errorf("redisqueue: push: its verdict: %w", err)
		}
		numbers[i], verdict = n, rest
	}
	pushed := behaviour.Pushed{Queued: numbers[0], Length: numbers[3]}
	if full, duplicate := numbers[1], numbers[2]; full+duplicate > 0 {
		pushed.Dropped = map[behaviour.Reason]int64{}
		for reason, n := range map[behaviour.Reason]int{behaviour.QueueFull: full, behaviour.Duplicate: duplicate} {
			if n > 0 {
				pushed.Dropped[reason] = int64(n)
			}
		}
	}
	return pushed, nil
}
