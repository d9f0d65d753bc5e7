package redisqueue

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/oklog/ulid/v2"
	"github.com/redis/go-redis/v9"

	"laststand/internal/eventq"
	"laststand/internal/testenv"
)

const epoch = 1_795_212_345_678

// queueTest is a test with the queue of one game, in a partition of its own.
type queueTest struct {
	*testing.T
	*Store
	keys  partition
	terms eventq.Policy
	now   int64
	again *repeatingHook
}

func each(t *testing.T, f func(l *queueTest)) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, c redis.UniversalClient) { f(newQueueTest(t, c)) })
}

func newQueueTest(t *testing.T, c redis.UniversalClient) *queueTest {
	l := &queueTest{T: t, Store: New(c), now: epoch, again: &repeatingHook{}}
	number := leasePartition(t, c)
	l.keys = newPartition(number)
	l.terms = eventq.Policy{
		Game: gameIn(number), MaxLen: 1000, Overflow: eventq.DropOldest,
		BatchSize: 10, FlushMS: 1000, MaxAgeMS: 170_000,
	}
	c.AddHook(l.again)
	return l
}

// acquired counts the partitions that tests have got.
var acquired atomic.Int64

// leasePartition gives a test a partition that is empty.
func leasePartition(t *testing.T, c redis.UniversalClient) int {
	cluster, shared := c.(*redis.ClusterClient)
	if !shared {
		return 0
	}
	number := int(acquired.Add(1) % partitions)
	tag := newPartition(number)
	master, err := cluster.MasterForKey(t.Context(), string(tag))
	if err != nil {
		t.Fatal(err)
	}
	left := master.Scan(t.Context(), 0, string(tag)+"*", 1000).Iterator()
	for left.Next(t.Context()) {
		master.Del(t.Context(), left.Val())
	}
	if err := left.Err(); err != nil {
		t.Fatal(err)
	}
	return number
}

func gameIn(number int) string {
	for {
		if game := "game." + ulid.Make().String(); partitionOf(game) == number {
			return game
		}
	}
}

// repeatingHook runs every script twice, as the client library does after a
// timeout.
type repeatingHook struct{ enabled atomic.Bool }

func (h *repeatingHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *repeatingHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h *repeatingHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if h.enabled.Load() && strings.HasPrefix(cmd.Name(), "eval") {
			_ = next(ctx, cmd)
		}
		return next(ctx, cmd)
	}
}

func (l *queueTest) ownItems(ids ...string) []eventq.Item {
	items := make([]eventq.Item, len(ids))
	for i, id := range ids {
		items[i] = eventq.Item{ID: id, At: l.now - 5, QueuedAt: l.now, Body: fmt.Appendf(nil, `{"id":%q}`, id)}
	}
	return items
}

func (l *queueTest) postedItems(ids ...string) []eventq.Item {
	items := l.ownItems(ids...)
	for i := range items {
		items[i].Unique = true
	}
	return items
}

func (l *queueTest) push(items []eventq.Item) eventq.PushResult {
	l.Helper()
	pushed, err := l.Push(l.Context(), l.terms, eventq.Push{ID: ulid.Make().String(), Items: items, Posted: len(items) > 0 && items[0].Unique, Now: l.now})
	if err != nil {
		l.Fatal(err)
	}
	return pushed
}

func (l *queueTest) take(batch string) eventq.TakeResult {
	l.Helper()
	taken, err := l.Take(l.Context(), l.terms, eventq.Take{Batch: batch, Messages: 1, Now: l.now, Lease: 20_000})
	if err != nil {
		l.Fatal(err)
	}
	return taken
}

func (l *queueTest) finish(s eventq.BatchResult) {
	l.Helper()
	s.Now = l.now
	if err := l.Finish(l.Context(), l.terms, s); err != nil {
		l.Fatal(err)
	}
}

// fail makes a take of one item fail.
func (l *queueTest) fail(why string, until int64) {
	l.Helper()
	batch := ulid.Make().String()
	items := l.take(batch).Items
	if len(items) == 0 {
		l.Fatal("nothing was taken")
	}
	l.finish(eventq.BatchResult{Batch: batch, Requeue: items, Error: why, CoolUntil: until})
}

func (l *queueTest) maintain() {
	l.Helper()
	if err := l.Maintain(l.Context(), l.terms, l.now); err != nil {
		l.Fatal(err)
	}
}

func (l *queueTest) status() eventq.Status {
	l.Helper()
	all, err := l.Status(l.Context(), []string{l.terms.Game}, l.now)
	if err != nil || len(all) != 1 {
		l.Fatal(all, err)
	}
	return all[0]
}

func lost(c eventq.Counts) (n int64) {
	for _, dropped := range c.Dropped {
		n += dropped
	}
	return n
}

// count checks the counters of the game, and that they add up.
func (l *queueTest) count(want eventq.Counts) {
	l.Helper()
	if want.Dropped == nil {
		want.Dropped = map[eventq.Reason]int64{}
	}
	got := l.status().Counts
	if !reflect.DeepEqual(got, want) {
		l.Errorf("counts %+v, want %+v", got, want)
	}
	if got.Offered != got.Sent+lost(got)+got.Queued+got.InFlight {
		l.Errorf("counts do not add up: %+v", got)
	}
}

// queued checks the items in the queue, and that the counters agree.
func (l *queueTest) queued(want ...string) {
	l.Helper()
	items, err := l.Peek(l.Context(), l.terms.Game, 2000)
	if got := idsOf(items); err != nil || !slices.Equal(got, want) {
		l.Errorf("queued %q, want %q, %v", got, want, err)
	}
	if n := l.status().Counts.Queued; n != int64(len(want)) {
		l.Errorf("%d are counted as queued of %d", n, len(want))
	}
}

// due checks when the game is due; 0 means never.
func (l *queueTest) due(want int64) {
	l.Helper()
	if got := l.status().DueAt; got != want {
		l.Errorf("due at %d, want %d", got-epoch, want-epoch)
	}
}

func (l *queueTest) remembered(want ...string) {
	l.Helper()
	got := l.client.ZRange(l.Context(), l.keys.seen(l.terms.Game), 0, -1).Val()
	slices.Sort(got)
	if !slices.Equal(got, want) {
		l.Errorf("remembered %q, want %q", got, want)
	}
}

func idsOf(items []eventq.Item) []string {
	var ids []string
	for _, item := range items {
		ids = append(ids, item.ID)
	}
	return ids
}

// ids returns n ids, numbered from first on.
func ids(from, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("i%04d", from+i)
	}
	return all
}

func checkPushed(t *testing.T, got, want eventq.PushResult) {
	t.Helper()
	if got.Queued != want.Queued || got.Length != want.Length || !maps.Equal(got.Dropped, want.Dropped) {
		t.Errorf("pushed %+v, want %+v", got, want)
	}
}

type dropCounts = map[eventq.Reason]int64
