package redismatch

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// dueLimit is how many matches of one partition a sweep takes up at once.
const dueLimit = 64

// Due implements match.Index, with one command a partition.
func (s *Store) Due(ctx context.Context, before int64) ([]string, error) {
	until := redis.ZRangeBy{Min: "-inf", Max: "(" + strconv.FormatInt(before, 10), Count: dueLimit}
	cmds := make([]*redis.StringSliceCmd, Partitions)
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range cmds {
			cmds[i] = p.ZRangeByScore(ctx, partition(i).due(), &until)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("redismatch: due: %w", err)
	}
	var ids []string
	for _, c := range cmds {
		ids = append(ids, c.Val()...)
	}
	return ids, nil
}

// Forget implements match.Index.
func (s *Store) Forget(ctx context.Context, id string) error {
	k := keysOf(id)
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.ZRem(ctx, k.due(), id)
		p.HDel(ctx, k.seq(), id)
		return nil
	})
	if err != nil {
		return fmt.Errorf("redismatch: forget %s: %w", id, err)
	}
	return nil
}

// Seqs implements match.Index, with one command a partition that has matches.
func (s *Store) Seqs(ctx context.Context, matches []string) (map[string]int64, error) {
	byKey := make(map[string][]string)
	for _, id := range matches {
		key := keysOf(id).seq()
		byKey[key] = append(byKey[key], id)
	}
	cmds := make(map[string]*redis.SliceCmd, len(byKey))
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for key, ids := range byKey {
			cmds[key] = p.HMGet(ctx, key, ids...)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("redismatch: seqs: %w", err)
	}
	seqs := make(map[string]int64, len(matches))
	for key, cmd := range cmds {
		for i, raw := range cmd.Val() {
			if raw != nil {
				seqs[byKey[key][i]] = number(cmd.Val(), i)
			}
		}
	}
	return seqs, nil
}
