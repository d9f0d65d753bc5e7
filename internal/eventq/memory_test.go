package eventq

import (
	"context"
	"hash/fnv"
	"maps"
	"sync"
)

const partitions = 4

// memory is a store in memory, with faults that tests can switch on.
type memory struct {
	mu     sync.Mutex
	games  map[string]*memoryGame
	pushes map[string]PushResult
	ended  map[string]bool // batches
	beats  map[string]int64

	noMoreIDs bool // of what is taken once

	calls map[string]int
	fault func(operation, game string) error // before the call; nil: none
	loss  func(operation, game string) error // after it
}

// memoryGame is a game's queue.
type memoryGame struct {
	items  []Item
	counts Counts
	flight map[string]*inFlightBatch
	seen   map[string]int64
	tried  map[string]Tried // by item of a message that was tried
	due    int64            // 0: not
	cool   int64
	tokens float64
	at     int64 // of the tokens
	bound  int
	paused string
	why    string
	flush  int64
	batch  int
}

type inFlightBatch struct {
	items []Item
	lease int64
}

func newMemory() *memory {
	return &memory{
		games: map[string]*memoryGame{}, pushes: map[string]PushResult{},
		ended: map[string]bool{}, beats: map[string]int64{}, calls: map[string]int{},
	}
}

func (m *memory) failing(operation, game string) error {
	if m.fault == nil {
		return nil
	}
	return m.fault(operation, game)
}

func (m *memory) game(name string) *memoryGame {
	if m.games[name] == nil {
		m.games[name] = &memoryGame{flight: map[string]*inFlightBatch{}, seen: map[string]int64{}, tried: map[string]Tried{}, counts: Counts{Dropped: map[Reason]int64{}}, tokens: -1}
	}
	return m.games[name]
}

func (m *memory) Partitions() int { return partitions }

func (m *memory) Partition(game string) int {
	h := fnv.New32a()
	h.Write([]byte(game))
	return int(h.Sum32() % partitions)
}

// act makes one call. It can fail before the call, or make the call and lose the
// answer.
func (m *memory) act(operation, game string, do func(k *memoryGame) error) error {
	m.mu.Lock()
	m.calls[operation]++
	err := m.failing(operation, game)
	loss := m.loss
	if err == nil {
		err = do(m.game(game))
	} else {
		loss = nil
	}
	m.mu.Unlock()
	if err == nil && loss != nil {
		return loss(operation, game)
	}
	return err
}

// mark records when the game is due, and returns when the next batch can be taken.
func (k *memoryGame) mark(now int64) (next int64) {
	switch {
	case len(k.items) == 0 || k.paused != "":
	case len(k.items) >= k.batch, k.tried[k.items[0].ID].ID != "":
		next = max(now, k.cool)
	default:
		next = max(min(k.items[0].QueuedAt, now)+k.flush, k.cool)
	}
	k.due = next
	for _, f := range k.flight {
		if k.due == 0 || f.lease < k.due {
			k.due = f.lease
		}
	}
	return next
}

func (m *memory) Heartbeat(_ context.Context, node string, now int64) (seen map[string]int64, err error) {
	err = m.act("heartbeat", "", func(*memoryGame) error {
		m.beats[node] = now
		seen = maps.Clone(m.beats)
		return nil
	})
	return seen, err
}
