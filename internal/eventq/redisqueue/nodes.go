package redisqueue

import (
	"context"
	"fmt"
	"slices"

	"laststand/internal/eventq"
)

// Heartbeat implements eventq.Nodes.
func (s *Store) Heartbeat(ctx context.Context, node string, now int64) ([]string, error) {
	alive, err := heartbeatScript.Run(ctx, s.client, []string{nodesKey}, node, now, now-eventq.NodeTTLMS, now+clockSkewMS).StringSlice()
	if err != nil {
		return nil, fmt.Errorf("redisqueue: beat: %w", err)
	}
	slices.Sort(alive)
	return alive, nil
}

// Leave implements eventq.Nodes.
func (s *Store) Leave(ctx context.Context, node string) error {
	if err := s.client.ZRem(ctx, nodesKey, node).Err(); err != nil {
		return fmt.Errorf("redisqueue: bye: %w", err)
	}
	return nil
}
