package redisstore

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/leaderboard"
	"laststand/internal/redisx"
)

var (
	publishScript = newScript("board_publish")
	leaseScript   = newScript("board_lease")
)

// ServedConfig implements leaderboard.BoardSetStore.
func (s *Boards) ServedConfig(ctx context.Context, game string) (last leaderboard.Config, found bool, err error) {
	served, err := s.rdb.HVals(ctx, servedKey(game)).Result()
	lastTouched := int64(0)
	for i := 0; i < len(served) && err == nil; i++ {
		var values []any
		values, err = s.rdb.HMGet(ctx, stateKey(leaderboard.BoardSet{Game: game, ID: served[i]}), "config", "touched").Result()
		reply := redisx.Reply(values)
		if config, touched := reply.Text(0), reply.Number(1); err == nil && config != "" && touched >= lastTouched { // without config, Redis lost the state
			last, found, lastTouched = leaderboard.Config{Game: game}, true, touched
			err = json.Unmarshal([]byte(config), &last)
		}
	}
	return last, found && err == nil, wrap("read leaderboard configurations", err)
}

// RequestBuild implements leaderboard.BoardSetStore.
func (s *Boards) RequestBuild(ctx context.Context, game, configHash, reason string) error {
	return wrap("request a build of leaderboards", s.rdb.HSetNX(ctx, buildingKey(game), configHash, reason).Err())
}

// Begin implements leaderboard.BoardSetStore.
func (s *Boards) Begin(ctx context.Context, cfg leaderboard.Config, newState leaderboard.BoardSetState, now int64) error {
	config, err := json.Marshal(cfg)
	fields, fieldsErr := stateFields(newState.Progress, newState.Loading, now)
	if err = errors.Join(err, fieldsErr); err == nil {
		_, err = s.rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.SAdd(ctx, boardSetsKey(newState.Game), newState.ID)
			pipe.HSet(ctx, stateKey(newState.BoardSet), append(fields, "version", newState.Version, "config", config)...)
			pipe.HSet(ctx, buildingKey(newState.Game), newState.ConfigHash, newState.ID)
			return nil
		})
	}
	return wrap("begin leaderboards", err)
}

// Publish implements leaderboard.BoardSetStore. It does nothing if the board set is being
// loaded, lost or corrupt.
func (s *Boards) Publish(ctx context.Context, boardSet leaderboard.BoardSet) error {
	keys := []string{servedKey(boardSet.Game), buildingKey(boardSet.Game), stateKey(boardSet)}
	return wrap("publish leaderboards", publishScript.Run(ctx, s.rdb, keys, boardSet.ConfigHash, boardSet.ID).Err())
}

// SetLease implements leaderboard.LeaseStore. The precision of ttl is 1 ms.
func (s *Boards) SetLease(ctx context.Context, leaseID leaderboard.LeaseID, holder string, ttl time.Duration) (bool, error) {
	isDone, err := leaseScript.Run(ctx, s.rdb, []string{leaseKey(leaseID)}, holder, ttl.Milliseconds()).Bool()
	return isDone, wrap("set the lease "+leaseID.Work, err)
}
