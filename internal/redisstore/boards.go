package redisstore

import (
	"context"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Boards stores the leaderboards of every game. It implements leaderboard.Store and
// leaderboard.RankingSource. Safe for concurrent use.
type Boards struct {
	rdb    redis.UniversalClient
	served sync.Map // configKey → servedBoards
}

// NewBoards returns a store that uses rdb. The caller closes rdb.
func NewBoards(rdb redis.UniversalClient) *Boards { return &Boards{rdb: rdb} }

// scriptCall holds the KEYS and ARGV of one run of a script.
type scriptCall struct {
	keys []string
	args []any
}

// runCalls runs a script once per call, in order, in one round trip. If the server does not
// know the script, runCalls loads it and runs all calls again; the scripts may be
// repeated. It returns an error only if the load fails. Each reply has its own error.
func (s *Boards) runCalls(ctx context.Context, script *redis.Script, calls []scriptCall) ([]*redis.Cmd, error) {
	replies := s.evalCalls(ctx, script, calls)
	for _, reply := range replies {
		if !redis.HasErrorPrefix(reply.Err(), "NOSCRIPT") {
			continue
		}
		if err := script.Load(ctx, s.rdb).Err(); err != nil {
			return nil, err
		}
		return s.evalCalls(ctx, script, calls), nil
	}
	return replies, nil
}

func (s *Boards) evalCalls(ctx context.Context, script *redis.Script, calls []scriptCall) []*redis.Cmd {
	replies := make([]*redis.Cmd, len(calls))
	// Pipelined returns the first error of the replies, so it can be ignored here.
	_, _ = s.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, call := range calls {
			replies[i] = pipe.EvalSha(ctx, script.Hash(), call.keys, call.args...)
		}
		return nil
	})
	return replies
}

// appendTexts appends texts to arguments of a script or command.
func appendTexts(args []any, texts []string) []any {
	args = slices.Grow(args, len(texts))
	for _, text := range texts {
		args = append(args, text)
	}
	return args
}
