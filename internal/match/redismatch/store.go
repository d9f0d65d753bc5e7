package redismatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/oklog/ulid/v2"
	"github.com/redis/go-redis/v9"

	"laststand/internal/match"
	"laststand/internal/protocol"
)

const (
	// matchTTLMS is how long Redis stores a match that never ends. It covers half
	// a day in the lobby and a match that its host prolongs.
	matchTTLMS = 48 * 60 * 60 * 1000
	// settledTTLMS is how long the match of an arena can be read after its result
	// is settled.
	settledTTLMS = 6 * 60 * 1000
	// tombstoneTTLMS is how long the store remembers the id of a match that is over or
	// tombstoned.
	tombstoneTTLMS = 60 * 60 * 1000
)

// Store implements match.Store, match.Index, arena.Seats and arena.Codes. It is
// safe for concurrent use. Every write is idempotent, because the client
// library repeats commands after an ambiguous error.
type Store struct {
	client    redis.UniversalClient
	scripts   redis.Scripter
	batcher   batcher
	questions questionCache

	hasReplicas   func() bool
	onUnconfirmed func()
}

// Option configures a Store.
type Option func(*Store)

// ConfirmByReplica makes the store announce a first right answer only after a
// replica has it, while replicas returns true. If no replica confirms in time, the answer is
// announced anyway and unconfirmed is called. Without this option the store
// does not wait for replicas.
func ConfirmByReplica(replicas func() bool, unconfirmed func()) Option {
	return func(s *Store) { s.hasReplicas, s.onUnconfirmed = replicas, unconfirmed }
}

// New makes a store. Scripts run on scripts, which may share pipelines between
// callers. Everything else runs on client. Both must reach the same Redis.
func New(client redis.UniversalClient, scripts redis.Scripter, options ...Option) *Store {
	s := &Store{client: client, scripts: scripts, hasReplicas: func() bool { return false }}
	s.batcher = batcher{sendAttempts: s.commitBatch, pending: make(map[string][]*pendingAttempt)}
	for _, option := range options {
		option(s)
	}
	return s
}

// scripterForSize returns what a script runs on. A script of a large match runs on
// the client, because many players wait for it. It does not wait behind the answers
// of other matches.
func (s *Store) scripterForSize(large bool) redis.Scripter {
	if large {
		return s.client
	}
	return s.scripts
}

// Create writes a new match, see match.Store.
func (s *Store) Create(ctx context.Context, p *match.Plan, first match.State, found *protocol.NumberedPush) (bool, error) {
	plan, err := json.Marshal(p)
	if err != nil {
		return false, fmt.Errorf("redismatch: create %s: %w", p.ID, err)
	}
	var frame []byte
	if found != nil {
		frame = found.Frame(1)
	}
	k := newKeys(p.ID)
	args := append([]any{p.ID, ulid.Make().String(), plan, first.DueAt, matchTTLMS, frame}, createFields(p, first)...)
	created, err := createMatchScript.Run(ctx, s.scripts,
		[]string{k.match(), k.plan(), k.log(), k.due(), k.seq(), k.tombstone()}, args...).Bool()
	if err != nil {
		return false, fmt.Errorf("redismatch: create %s: %w", p.ID, err)
	}
	return created, nil
}

// Tombstone prevents a match from ever being created, see match.Store.
func (s *Store) Tombstone(ctx context.Context, id string) (exists bool, err error) {
	k := newKeys(id)
	exists, err = tombstoneScript.Run(ctx, s.scripts, []string{k.match(), k.tombstone()}, tombstoneTTLMS).Bool()
	if err != nil {
		return false, fmt.Errorf("redismatch: tombstone %s: %w", id, err)
	}
	return exists, nil
}

// Record returns a player's accepted answer to a question, see match.Store.
func (s *Store) Record(ctx context.Context, id, player string, question int) (match.Record, bool, error) {
	raw, err := findRecordScript.Run(ctx, s.scripts, []string{newKeys(id).answers()}, answerField(question, player)).Text()
	if errors.Is(err, redis.Nil) {
		return match.Record{}, false, nil
	}
	if err != nil {
		return match.Record{}, false, fmt.Errorf("redismatch: record of %s: %w", id, err)
	}
	record, err := decodeRecord(raw)
	if err != nil {
		return match.Record{}, false, fmt.Errorf("redismatch: record of %s: %w", id, err)
	}
	return record, true, nil
}

func answerField(question int, player string) string { return strconv.Itoa(question) + "|" + player }

// Nodes lists the nodes that hold sessions of a match, see match.Store.
func (s *Store) Nodes(ctx context.Context, id string) ([]string, error) {
	nodes, err := s.client.SMembers(ctx, newKeys(id).nodes()).Result()
	if err != nil {
		return nil, fmt.Errorf("redismatch: nodes of %s: %w", id, err)
	}
	return nodes, nil
}

// PostponeHostDeadline moves the deadline of an arena that waits for its host to a
// later time (cluster time, ms), see match.Store.
func (s *Store) PostponeHostDeadline(ctx context.Context, id string, dueAt int64) error {
	k := newKeys(id)
	if err := postponeHostDeadlineScript.Run(ctx, s.scripts, []string{k.match(), k.due()}, id, dueAt).Err(); err != nil {
		return fmt.Errorf("redismatch: postpone host deadline of %s: %w", id, err)
	}
	return nil
}
