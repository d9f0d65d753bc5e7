package redismatch

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// maxSeenQuestions is how many seen questions are stored per player: the newest.
	maxSeenQuestions = 300
	seenTTL          = 7 * 24 * time.Hour
)

// Seen stores which questions players saw recently. It implements
// lobby.SeenStore.
type Seen struct{ client redis.UniversalClient }

// SeenQuestions lists the questions that the players of a game saw recently.
func (q *Seen) SeenQuestions(ctx context.Context, game string, players []string) (map[string]struct{}, error) {
	cmds := make([]*redis.StringSliceCmd, len(players))
	_, err := q.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, player := range players {
			cmds[i] = pipe.LRange(ctx, seenKey(game, player), 0, -1)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("redismatch: read seen questions: %w", err)
	}
	seen := make(map[string]struct{})
	for _, cmd := range cmds {
		for _, id := range cmd.Val() {
			seen[id] = struct{}{}
		}
	}
	return seen, nil
}

// AddSeen records that the players of a game are about to see questions.
func (q *Seen) AddSeen(ctx context.Context, game string, players, questions []string) error {
	ids := make([]any, len(questions))
	for i, id := range questions {
		ids[i] = id
	}
	_, err := q.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, player := range players {
			key := seenKey(game, player)
			pipe.RPush(ctx, key, ids...)
			pipe.LTrim(ctx, key, -maxSeenQuestions, -1)
			pipe.Expire(ctx, key, seenTTL)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("redismatch: add seen questions: %w", err)
	}
	return nil
}

// ForgetSeen deletes the list of questions that a player has seen.
func (q *Seen) ForgetSeen(ctx context.Context, game, player string) error {
	if err := q.client.Del(ctx, seenKey(game, player)).Err(); err != nil {
		return fmt.Errorf("redismatch: forget seen questions: %w", err)
	}
	return nil
}
