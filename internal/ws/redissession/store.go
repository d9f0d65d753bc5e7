// Package redissession numbers the sessions of players in Redis, so that nodes know
// which of two sessions is newer. It implements ws.Numbers.
//
// A number is at least the cluster time in ms, and higher than the player's number
// before. The key of a player expires a week after the last session began. Start
// reading at Store.Next. The package must not know websockets.
package redissession

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/redis/go-redis/v9"
)

// ttl is how long Redis keeps a player's last session.
const ttl = 7 * 24 * time.Hour

var (
	//go:embed session.lua
	sessionSource string

	sessionScript = redis.NewScript(sessionSource)
)

// Store is safe for concurrent use.
type Store struct {
	client redis.UniversalClient
	node   string
	now    func() int64
}

// New makes the store of a node; now is cluster time, epoch ms.
func New(client redis.UniversalClient, node string, now func() int64) *Store {
	return &Store{client: client, node: node, now: now}
}

func key(game, player string) string { return "session:{" + game + "/" + player + "}" }

// Next implements ws.Numbers.
func (s *Store) Next(ctx context.Context, game, player string) (number int64, former string, err error) {
	return s.next(ctx, game, player, ulid.Make().String())
}

func (s *Store) next(ctx context.Context, game, player, attempt string) (number int64, former string, err error) {
	reply, err := sessionScript.Run(ctx, s.client, []string{key(game, player)},
		attempt, s.node, s.now(), ttl.Milliseconds()).StringSlice()
	if err == nil {
		number, err = strconv.ParseInt(reply[0], 10, 64)
	}
	if err != nil {
		return 0, "", fmt.Errorf("redissession: next: %w", err)
	}
	return number, reply[1], nil
}

// Newest implements ws.Numbers.
func (s *Store) Newest(ctx context.Context, game, player string) (int64, error) {
	number, err := s.client.HGet(ctx, key(game, player), "number").Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return 0, fmt.Errorf("redissession: newest: %w", err)
	}
	return number, nil
}

// Forget removes the numbers of a player whose sessions have ended.
func (s *Store) Forget(ctx context.Context, game, player string) error {
	if err := s.client.Del(ctx, key(game, player)).Err(); err != nil {
		return fmt.Errorf("redissession: forget: %w", err)
	}
	return nil
}
