package redismatch

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"laststand/internal/lua"
	"laststand/internal/match"
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
		p.HDel(ctx, k.seq(), k.marks()...)
		return nil
	})
	if err != nil {
		return fmt.Errorf("redismatch: forget %s: %w", id, err)
	}
	return nil
}

// RemoveOrphan implements match.Index. The keys of single answers end by
// themselves.
func (s *Store) RemoveOrphan(ctx context.Context, id string, dueBefore int64) (bool, error) {
	k := keysOf(id)
	names := append([]string{k.match(), k.due(), k.seq(), k.tomb()}, k.placing()[1:]...)
	removed, err := orphanScript.Run(ctx, s.scripts, append(names, k.passing()...), id, dueBefore, tombMS).Bool()
	if err != nil {
		return false, fmt.Errorf("redismatch: remove %s: %w", id, err)
	}
	return removed, nil
}

// Marks implements match.Index, with one command a partition that has matches.
func (s *Store) Marks(ctx context.Context, matches []string) (map[string]match.Mark, error) {
	byKey, names := make(map[string][]string), make(map[string][]string)
	for _, id := range matches {
		k := keysOf(id)
		byKey[k.seq()] = append(byKey[k.seq()], id)
		names[k.seq()] = append(names[k.seq()], k.marks()...)
	}
	cmds := make(map[string]*redis.SliceCmd, len(byKey))
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for key := range byKey {
			cmds[key] = p.HMGet(ctx, key, names[key]...)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("redismatch: marks: %w", err)
	}
	marks := make(map[string]match.Mark, len(matches))
	for key, cmd := range cmds {
		found := lua.Reply(cmd.Val())
		for i, id := range byKey[key] {
			if found[2*i] != nil {
				marks[id] = match.Mark{Seq: found.Number(2 * i), Version: found.Number(2*i + 1)}
			}
		}
	}
	return marks, nil
}
