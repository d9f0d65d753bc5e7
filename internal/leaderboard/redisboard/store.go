package redisboard

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Store keeps the boards of every game. It implements leaderboard.Store and
// leaderboard.Source. Safe for concurrent use.
type Store struct {
	rdb   redis.UniversalClient
	pages *cache // nil: none

	mu     sync.Mutex
	served map[formOf]servedNow
}

// formOf is one form of a game's boards.
type formOf struct{ game, form string }

// Option changes a Store.
type Option func(*Store)

// CachePages answers a Slice that was read within ttl again without asking
// Redis, and reads one asked for by several at once once. It is for the
// embedded Redis, which sorts the whole ranking at every read: 18 ms at 100,000
// entries, with all else waiting. 250 ms are a good ttl. Places are always read.
func CachePages(ttl time.Duration) Option {
	return func(s *Store) { s.pages = newCache(ttl) }
}

// New returns a store on that Redis.
func New(rdb redis.UniversalClient, options ...Option) *Store {
	s := &Store{rdb: rdb, served: map[formOf]servedNow{}}
	for _, o := range options {
		o(s)
	}
	return s
}

// script joins the pieces of one script.
func script(pieces ...string) *redis.Script {
	return redis.NewScript(strings.Join(pieces, "\n"))
}

// call is one run of a script.
type call struct {
	keys []string
	args []any
}

// runAll runs a script once for each call, in order, in one round trip. A
// server that does not know the script yet is told, and all of it is run again:
// scripts bear that. The error is of the connection; each reply has its own.
func (s *Store) runAll(ctx context.Context, sc *redis.Script, calls []call) ([]*redis.Cmd, error) {
	replies := s.evalAll(ctx, sc, calls)
	for _, r := range replies {
		if !redis.HasErrorPrefix(r.Err(), "NOSCRIPT") {
			continue
		}
		if err := sc.Load(ctx, s.rdb).Err(); err != nil {
			return nil, err
		}
		return s.evalAll(ctx, sc, calls), nil
	}
	return replies, nil
}

func (s *Store) evalAll(ctx context.Context, sc *redis.Script, calls []call) []*redis.Cmd {
	replies := make([]*redis.Cmd, len(calls))
	// Pipelined returns the first of the replies' errors, which each reply has.
	_, _ = s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, c := range calls {
			replies[i] = p.EvalSha(ctx, sc.Hash(), c.keys, c.args...)
		}
		return nil
	})
	return replies
}
