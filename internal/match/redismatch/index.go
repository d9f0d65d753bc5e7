package redismatch

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"

	"laststand/internal/match"
	"laststand/internal/redisx"
)

// Index finds matches by deadline and progress. It implements match.Index.
type Index struct{ connection }

// maxDuePerPartition is how many matches of one partition a sweep handles.
const maxDuePerPartition = 64

// ListDue lists matches whose deadline is before a cluster time (ms), at most
// maxDuePerPartition per partition. It sends one command per partition.
func (x *Index) ListDue(ctx context.Context, before int64) ([]string, error) {
	dueRange := redis.ZRangeBy{Min: "-inf", Max: "(" + strconv.FormatInt(before, 10), Count: maxDuePerPartition}
	cmds := make([]*redis.StringSliceCmd, Partitions)
	_, err := x.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i := range cmds {
			cmds[i] = pipe.ZRangeByScore(ctx, partitionKeys(i).due(), &dueRange)
		}
		return nil
	})
	if err != nil {
		return nil, wrap("list due matches", "", err)
	}
	var ids []string
	for _, cmd := range cmds {
		ids = append(ids, cmd.Val()...)
	}
	return ids, nil
}

// RemoveIndexEntries removes a match from the indexes of its partition, see
// match.Index.
func (x *Index) RemoveIndexEntries(ctx context.Context, id string) error {
	k := newKeys(id)
	_, err := x.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.ZRem(ctx, k.due(), id)
		pipe.HDel(ctx, k.seq(), k.progressFields()...)
		return nil
	})
	return wrap("remove index of", id, err)
}

// RemoveOrphan removes a match that no node can read, see match.Index. The keys of
// its buzzer questions expire by themselves.
func (x *Index) RemoveOrphan(ctx context.Context, id string, dueBefore int64) (bool, error) {
	k := newKeys(id)
	keyNames := append([]string{k.match(), k.due(), k.seq(), k.tombstone()}, k.resultKeys(anyMode)[1:]...)
	removed, err := removeOrphanScript.Run(ctx, x.scripts, append(keyNames, k.playKeys(anyMode)...), id, dueBefore, tombstoneTTLMS).Bool()
	return removed, wrap("remove", id, err)
}

// ReadProgress returns the progress of matches, see match.Index. It sends one
// command per partition that has any of them.
func (x *Index) ReadProgress(ctx context.Context, matches []string) (map[string]match.Progress, error) {
	byKey, names := make(map[string][]string), make(map[string][]string)
	for _, id := range matches {
		k := newKeys(id)
		byKey[k.seq()] = append(byKey[k.seq()], id)
		names[k.seq()] = append(names[k.seq()], k.progressFields()...)
	}
	cmds := make(map[string]*redis.SliceCmd, len(byKey))
	_, err := x.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for key := range byKey {
			cmds[key] = pipe.HMGet(ctx, key, names[key]...)
		}
		return nil
	})
	if err != nil {
		return nil, wrap("read progress", "", err)
	}
	progress := make(map[string]match.Progress, len(matches))
	for key, cmd := range cmds {
		found := redisx.Reply(cmd.Val())
		for i, id := range byKey[key] {
			if found[2*i] != nil {
				progress[id] = match.Progress{Seq: found.Number(2 * i), Version: found.Number(2*i + 1)}
			}
		}
	}
	return progress, nil
}
