package redisqueue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/eventq"
)

// sessionTTL is how long the store keeps sessions of a node without a heartbeat.
const sessionTTL = time.Hour

// Heartbeat implements eventq.Nodes.
func (s *Store) Heartbeat(ctx context.Context, node string, now int64) (map[string]int64, error) {
	var all *redis.ZSliceCmd
	_, err := s.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.ZAdd(ctx, nodesKey, redis.Z{Member: node, Score: float64(now)})
		p.PExpire(ctx, sessionsKey(node), sessionTTL)
		all = p.ZRangeWithScores(ctx, nodesKey, 0, -1)
		return nil
	})
	if err != nil {
		return nil, wrapError("heartbeat", err)
	}
	seen := make(map[string]int64)
	for _, z := range all.Val() {
		seen[fmt.Sprint(z.Member)] = int64(z.Score)
	}
	return seen, nil
}

// SyncSessions implements eventq.Nodes.
func (s *Store) SyncSessions(ctx context.Context, node string, changes []eventq.SessionRecord) error {
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
		return nil
	})
	return wrapError("sync sessions", err)
}

// Sessions implements eventq.Nodes.
func (s *Store) Sessions(ctx context.Context, node string, seenAt int64, limit int) ([]eventq.SessionRecord, error) {
	var seen *redis.FloatCmd
	var sessions *redis.StringSliceCmd
	_, err := s.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		seen, sessions = p.ZScore(ctx, nodesKey, node), p.HRandField(ctx, sessionsKey(node), limit)
		return nil
	})
	if errors.Is(err, redis.Nil) || err == nil && int64(seen.Val()) != seenAt { // it is forgotten, or has come back
		return nil, nil
	}
	if err != nil {
		return nil, wrapError("sessions", err)
	}
	ids := sessions.Val()
	if len(ids) == 0 {
		return nil, wrapError("sessions", s.client.ZRem(ctx, nodesKey, node).Err())
	}
	stored, err := s.client.HMGet(ctx, sessionsKey(node), ids...).Result()
	found := make([]eventq.SessionRecord, len(stored))
	for i, value := range stored {
		text, _ := value.(string)
		if json.Unmarshal([]byte(text), &found[i]) != nil {
			found[i] = eventq.SessionRecord{Session: ids[i]}
		}
	}
	return found, wrapError("sessions", err)
}
