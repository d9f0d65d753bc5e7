package match

import (
	"context"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"laststand/internal/timer"
)

// Config configures an Engine. Every field except Registry is required.
type Config struct {
	Matches  StateStore
	Answers  AnswerStore
	Places   PlaceStore
	Index    Index
	Results  ResultStore
	Wheel    *timer.Wheel
	Presence *Presence
	Now      func() int64 // cluster time, epoch ms
	OnResult func(*Result)
	Logger   *slog.Logger
	Registry prometheus.Registerer

	// Node is the name of this node, unique in the cluster. Bus sends messages
	// to the other nodes.
	Node string
	Bus  Bus
	// OnArenaEnd is called with the arena and the game when this node ends the
	// arena's match.
	OnArenaEnd func(*Arena, string)
	// OnSettled is called when the results of matches of players at this node are in
	// the ledger, all of one game. After an error the engine calls it again for each
	// match that this node holds.
	OnSettled func(context.Context, []Settlement) error
	// OnLifecycle is called when a match starts or ends for players at this
	// node. The engine calls it outside the steps of the match. It must not
	// block.
	OnLifecycle func(LifecycleEvent)

	// RefusesText reports whether players of a game must not see a text that a player
	// wrote as an answer.
	RefusesText func(game, text string) bool
}

const (
	// callTimeout limits the store calls of one timer or one sweep.
	callTimeout = 2 * time.Second
	// recoveryInterval is the interval of the rounds of recovery.
	recoveryInterval = time.Second
)

// engineBase is what all parts of an Engine share.
type engineBase struct {
	Config
	metrics      *metrics
	instanceID   string        // unique among all engines
	attemptCount atomic.Uint64 // how many attempt ids this engine has created
}

func newEngineBase(config Config) *engineBase {
	return &engineBase{Config: config, metrics: newMetrics(config.Registry), instanceID: newID()}
}

func newID() string { return ulid.Make().String() }

// attemptID returns an id that is unique among all nodes.
func (b *engineBase) attemptID() string {
	return b.instanceID + "." + strconv.FormatUint(b.attemptCount.Add(1), 36)
}

// recoveryConcurrency is how many matches a recovery round handles at the same
// time.
const recoveryConcurrency = 32

// forEach runs do for all items, several at the same time. An item that fails
// does not stop the others. It returns the first error.
func forEach[T any](all []T, do func(T) error) error {
	var group errgroup.Group
	group.SetLimit(recoveryConcurrency)
	for _, item := range all {
		group.Go(func() error { return do(item) })
	}
	return group.Wait()
}
