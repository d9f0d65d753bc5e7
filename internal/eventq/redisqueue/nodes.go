package redisqueue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/eventq"
)

// Heartbeat implements eventq.Nodes. A heartbeat far ahead of now comes from a
// clock that was set back later. It is removed: otherwise a dead node would count
// as alive until that time.
func (s *Store) Heartbeat(ctx context.Context, node string, now int64) ([]string, error) {
	var alive *redis.StringSliceCmd
	_, err := s.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.ZAdd(ctx, nodesKey, redis.Z{Member: node, Score: float64(now)})
		p.ZRemRangeByScore(ctx, nodesKey, "-inf", fmt.Sprint("(", now-eventq.NodeTTLMS))
		p.ZRemRangeByScore(ctx, nodesKey, fmt.Sprint("(", now+clockSkewMS), "+inf")
		alive = p.ZRange(ctx, nodesKey, 0, -1)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("redisqueue: heartbeat: %w", err)
	}
	return slices.Sorted(slices.Values(alive.Val())), nil
}

// Leave implements eventq.Nodes.
func (s *Store) Leave(ctx context.Context, node string) error {
	return wrapError("leave", s.client.ZRem(ctx, nodesKey, node).Err())
}

// sessionTTL is how long the store keeps sessions of a node that does not renew
// them.
const sessionTTL = time.Hour

// Sync implements eventq.SessionStore.
func (s *Store) Sync(ctx context.Context, node string, changes []eventq.SessionRecord, seenAt int64) error {
	var added []any // ids and records in turn
	var ended []string
	for _, record := range changes {
		if record.Ended {
			ended = append(ended, record.Session)
			continue
		}
		text, err := json.Marshal(record)
		if err != nil {
			return fmt.Errorf("redisqueue: session %s: %w", record.Session, err)
		}
		added = append(added, record.Session, text)
	}
	_, err := s.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		if len(added) > 0 {
			p.HSet(ctx, sessionsKey(node), added...)
		}
		if len(ended) > 0 {
			p.HDel(ctx, sessionsKey(node), ended...)
		}
		p.PExpire(ctx, sessionsKey(node), sessionTTL)
		if seenAt > 0 {
			p.ZAddGT(ctx, sessionNodesKey, redis.Z{Member: node, Score: float64(seenAt)})
		}
		return nil
	})
	return wrapError("sync", err)
}

// DeadNodeSessions implements eventq.SessionStore. A node that was last seen
// in the far future had a clock that was set back later. It is dead too, because
// live nodes are renewed.
func (s *Store) DeadNodeSessions(ctx context.Context, now, age int64, limit int) ([]eventq.SessionRecord, string, error) {
	nodes, err := s.client.ZRangeWithScores(ctx, sessionNodesKey, 0, -1).Result()
	for _, z := range nodes {
		node, _ := z.Member.(string)
		seenAt := int64(z.Score)
		if max(now-seenAt, seenAt-now) < age {
			continue
		}
		if found, err := s.someSessions(ctx, node, seenAt, limit); err != nil || len(found) > 0 {
			return found, node, wrapError("dead nodes", err)
		}
	}
	return nil, "", wrapError("dead nodes", err)
}

// someSessions returns sessions of a node that was last seen at a time. If all that it
// finds are unreadable, it forgets them, and returns an error. If there are none, it
// forgets the node.
func (s *Store) someSessions(ctx context.Context, node string, seenAt int64, limit int) (found []eventq.SessionRecord, err error) {
	ids, err := s.client.HRandField(ctx, sessionsKey(node), limit).Result()
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, s.client.ZRem(ctx, sessionNodesKey, node).Err()
	}
	values, err := s.client.HMGet(ctx, sessionsKey(node), ids...).Result()
	var unreadable []string
	for i, value := range values {
		text, exists := value.(string)
		var record eventq.SessionRecord
		if exists && json.Unmarshal([]byte(text), &record) != nil {
			unreadable = append(unreadable, ids[i])
		} else if exists {
			record.Offline.At = max(record.Offline.At, seenAt)
			found = append(found, record)
		}
	}
	if err != nil || len(found) > 0 || len(unreadable) == 0 {
		return found, err
	}
	err = fmt.Errorf("%d sessions of node %s cannot be read and are forgotten: nodes of another version have stored them", len(unreadable), node)
	return nil, errors.Join(err, s.client.HDel(ctx, sessionsKey(node), unreadable...).Err())
}
