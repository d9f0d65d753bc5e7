package redismatch

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// seenBytes is how much of the text of seen questions is read per player, from its end:
	// the newest 350 or so with short ids. A text is shortened when it has become twice as
	// long.
	seenBytes = 4096
	seenTTL   = 7 * 24 * time.Hour
)

// Seen stores which questions players saw recently. The value of a player is a text: the
// ids in the order in which they were seen, each between two spaces. An id has no spaces.
// Seen implements lobby.SeenStore.
type Seen struct{ client redis.UniversalClient }

// SeenQuestions returns a function that tells whether one of the players of a game saw a
// question recently. Goroutines may share the function.
func (q *Seen) SeenQuestions(ctx context.Context, game string, players []string) (seen func(id string) bool, err error) {
	cmds := make([]*redis.StringCmd, len(players))
	_, err = q.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, player := range players {
			cmds[i] = pipe.GetRange(ctx, seenKey(game, player), -seenBytes, -1)
		}
		return nil
	})
	if err != nil {
		return nil, wrap("read seen questions", "", err)
	}
	texts := make([]string, len(cmds))
	for i, cmd := range cmds {
		texts[i] = cmd.Val()
	}
	return func(id string) bool {
		id = seenText(id)
		for _, text := range texts {
			if strings.Contains(text, id) {
				return true
			}
		}
		return false
	}, nil
}

func seenText(ids ...string) string { return " " + strings.Join(ids, "  ") + " " }

// AddSeen records that the players of a game are about to see questions.
func (q *Seen) AddSeen(ctx context.Context, game string, players, questions []string) error {
	lengths, added := make([]*redis.IntCmd, len(players)), seenText(questions...)
	_, err := q.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, player := range players {
			lengths[i] = pipe.Append(ctx, seenKey(game, player), added)
			pipe.Expire(ctx, seenKey(game, player), seenTTL)
		}
		return nil
	})
	for i, length := range lengths {
		if err == nil && length.Val() > 2*seenBytes {
			err = q.shorten(ctx, seenKey(game, players[i]))
		}
	}
	return wrap("add seen questions", "", err)
}

// shorten removes the oldest ids of a text. Ids that are added at the same time may be lost.
func (q *Seen) shorten(ctx context.Context, key string) error {
	text, err := q.client.GetRange(ctx, key, -seenBytes, -1).Result()
	if err != nil {
		return err
	}
	return q.client.Set(ctx, key, text, seenTTL).Err()
}

// ForgetSeen deletes the questions that a player has seen.
func (q *Seen) ForgetSeen(ctx context.Context, game, player string) error {
	return wrap("forget seen questions", "", q.client.Del(ctx, seenKey(game, player)).Err())
}
