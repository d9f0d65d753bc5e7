// Package redissession assigns numbers to the sessions of players in Redis, so that nodes
// know which of two sessions is newer. [Store] implements ws.SessionNumbers.
//
// A number is at least the cluster time in epoch ms, and higher than all earlier numbers
// of the player. The key of a player expires a week after the last session started. Start
// reading at Store.Assign. The package must not know websockets.
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

// ttl is how long Redis stores a player's last number.
const ttl = 7 * 24 * time.Hour

var (
	//go:embed session.lua
	sessionSource string

	sessionScript = redis.NewScript(sessionSource)
)

// Store stores the newest session of each player in Redis. It is safe for concurrent use.
type Store struct {
	client redis.UniversalClient
	node   string
	now    func() int64
}

// New makes the store of one node; now returns the cluster time in epoch ms.
func New(client redis.UniversalClient, node string, now func() int64) *Store {
	return &Store{client: client, node: node, now: now}
}

func key(game, player string) string { return "session:{" + game + "/" + player + "}" }

// Assign returns a number for a new session of a player at this node. It is higher than
// the numbers of all earlier sessions. formerNode is the node of the player's previous
// session; "" if none is known.
func (s *Store) Assign(ctx context.Context, game, player string) (number int64, formerNode string, err error) {
	return s.assign(ctx, game, player, ulid.Make().String())
}

// assign is Assign with the id of the attempt. A repeated attempt gets the same result.
func (s *Store) assign(ctx context.Context, game, player, attempt string) (number int64, formerNode string, err error) {
	reply, err := sessionScript.Run(ctx, s.client, []string{key(game, player)},
		attempt, s.node, s.now(), ttl.Milliseconds()).StringSlice()
	if err == nil {
		number, err = strconv.ParseInt(reply[0], 10, 64)
	}
	if err != nil {
		return 0, "", fmt.Errorf("redissession: assign session number: %w", err)
	}
	return number, reply[1], nil
}

// Newest returns the highest number assigned to a session of a player, 0 if Redis has
// none.
func (s *Store) Newest(ctx context.Context, game, player string) (int64, error) {
	number, err := s.client.HGet(ctx, key(game, player), "number").Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return 0, fmt.Errorf("redissession: read newest session number: %w", err)
	}
	return number, nil
}

// Forget deletes the key of a player whose sessions have ended.
func (s *Store) Forget(ctx context.Context, game, player string) error {
	if err := s.client.Del(ctx, key(game, player)).Err(); err != nil {
		return fmt.Errorf("redissession: delete session number: %w", err)
	}
	return nil
}
