package redisstore

import (
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Boards stores the leaderboards of every game. It implements leaderboard.Store and
// leaderboard.RankingSource. Safe for concurrent use.
type Boards struct {
	rdb    redis.UniversalClient
	served sync.Map // BoardSet without ID → BoardSetState that this node last saw as served
}

// NewBoards returns a store that uses rdb. The caller closes rdb.
func NewBoards(rdb redis.UniversalClient) *Boards { return &Boards{rdb: rdb} }

// scriptCall holds the KEYS and ARGV of one run of a script.
type scriptCall struct {
	keys []string
	args []any
}

// appendTexts appends texts to arguments of a script or command.
func appendTexts(args []any, texts []string) []any {
	args = slices.Grow(args, len(texts))
	for _, text := range texts {
		args = append(args, text)
	}
	return args
}
