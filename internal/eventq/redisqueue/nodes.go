package redisqueue

import (
	"context"
	"fmt"
	"slices"

	"laststand/internal/eventq"
)

// Beat implements eventq.Nodes.
func (s *Store) Beat(ctx context.Context, node string, now int64) ([]string, error) {
	alive, err := beatScript.Run(ctx, s.client, []string{nodesKey}, node, now, now-eventq.NodeMS, now+apartMS).StringSlice()
	if err != nil {
		return nil, fmt.Errorf("redisqueue: beat: %w", err)
	}
	slices.Sort(alive)
	return alive, nil
}

// Bye implements eventq.Nodes.
func (s *Store) Bye(ctx context.Context, node string) error {
	if err := s.client.ZRem(ctx, nodesKey, node).Err(); err != nil {
		return fmt.Errorf("redisqueue: bye: %w", err)
	}
	return nil
}
