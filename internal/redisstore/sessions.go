package redisstore

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/redis/go-redis/v9"
)

// sessionTTL is how long Redis stores a player's last number.
const sessionTTL = 7 * 24 * time.Hour

// Sessions stores the newest session of each player in Redis. It is safe for concurrent use.
type Sessions struct {
	client redis.UniversalClient
	node   string
	now    func() int64
}

// NewSessions makes the store of one node; now returns the cluster time in epoch ms.
func NewSessions(client redis.UniversalClient, node string, now func() int64) *Sessions {
	return &Sessions{client: client, node: node, now: now}
}

func sessionKey(game, player string) string { return "session:{" + game + "/" + player + "}" }

// Assign returns a number for a new session of a player at this node. It is higher than
// the numbers of all earlier sessions. formerNode is the node of the player's previous
// session; "" if none is known.
func (s *Sessions) Assign(ctx context.Context, game, player string) (number int64, formerNode string, err error) {
	return s.assign(ctx, game, player, ulid.Make().String())
}

// assign is Assign with the id of the attempt. A repeated attempt gets the same result.
func (s *Sessions) assign(ctx context.Context, game, player, attempt string) (number int64, formerNode string, err error) {
	reply, err := assignSessionScript.Run(ctx, s.client, []string{sessionKey(game, player)},
		attempt, s.node, s.now(), sessionTTL.Milliseconds()).StringSlice()
	if err == nil {
		formerNode = reply[1]
		number, err = strconv.ParseInt(reply[0], 10, 64)
	}
	return number, formerNode, wrap("assign session number", err)
}

// Newest returns the highest number assigned to a session of a player, 0 if Redis has
// none.
func (s *Sessions) Newest(ctx context.Context, game, player string) (int64, error) {
	number, err := s.client.HGet(ctx, sessionKey(game, player), "number").Int64()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	return number, wrap("read newest session number", err)
}

// Forget deletes the key of a player whose sessions have ended.
func (s *Sessions) Forget(ctx context.Context, game, player string) error {
	return wrap("delete session number", s.client.Del(ctx, sessionKey(game, player)).Err())
}
