package redismatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"laststand/internal/match"
)

// Pending implements match.Index.
func (s *Store) Pending(ctx context.Context, id string) (bool, error) {
	waits, err := s.client.HExists(ctx, keysOf(id).result(), id).Result()
	if err != nil {
		return false, fmt.Errorf("redismatch: pending %s: %w", id, err)
	}
	return waits, nil
}

// Unsettled implements match.Index.
func (s *Store) Unsettled(ctx context.Context) (int64, error) {
	waiting, err := s.waiting(ctx)
	var n int64
	for _, w := range waiting {
		n += w
	}
	return n, err
}

// maxSeats bounds the standings that Results gives at once, but for those of
// its last result.
const maxSeats = 20_000

// Results reads up to limit results that wait for the ledger, from a random
// partition on by the order of partitions. They are whole, but for those whose
// standings are gone or cannot be read by this node. An error speaks of those
// and of results that could not be read now; the others are there beside it.
func (s *Store) Results(ctx context.Context, limit int) ([]match.Result, error) {
	waiting, err := s.waiting(ctx)
	if err != nil {
		return nil, err
	}
	var results []match.Result
	var faults []error
	seats, first := 0, rand.IntN(Partitions) //nolint:gosec // any will do
	for i := 0; i < Partitions && len(results) < limit; i++ {
		p := (first + i) % Partitions
		if waiting[p] == 0 {
			continue
		}
		some, err := s.resultsOf(ctx, p, limit-len(results))
		faults = append(faults, err)
		for _, r := range some {
			if len(results) == limit || seats >= maxSeats {
				break
			}
			if err := match.Complete(ctx, s, &r); err != nil {
				faults = append(faults, err)
				if !errors.Is(err, match.ErrNotFound) {
					continue
				}
			}
			seats += len(r.Standings)
			results = append(results, r)
		}
	}
	return results, errors.Join(faults...)
}

// waiting counts the results of each partition.
func (s *Store) waiting(ctx context.Context) ([]int64, error) {
	cmds := make([]*redis.IntCmd, Partitions)
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range cmds {
			cmds[i] = p.HLen(ctx, partition(i).result())
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("redismatch: unsettled: %w", err)
	}
	waiting := make([]int64, Partitions)
	for i, c := range cmds {
		waiting[i] = c.Val()
	}
	return waiting, nil
}

// resultsOf reads about limit results of a partition, or all where there are
// few.
func (s *Store) resultsOf(ctx context.Context, p, limit int) ([]match.Result, error) {
	raw, _, err := s.client.HScan(ctx, partition(p).result(), 0, "", int64(limit)).Result()
	if err != nil {
		return nil, fmt.Errorf("redismatch: results: %w", err)
	}
	results := make([]match.Result, 0, len(raw)/2)
	var faults []error
	for at := 1; at < len(raw); at += 2 {
		var r match.Result
		if err := json.Unmarshal([]byte(raw[at]), &r); err != nil {
			faults = append(faults, fmt.Errorf("redismatch: result of %s: %w", raw[at-1], err))
			continue
		}
		results = append(results, r)
	}
	return results, errors.Join(faults...)
}

// Told notes that players can be told that a match is settled, with the final
// ratings of a rated one, and lists the nodes that hold sessions of it.
func (s *Store) Told(ctx context.Context, id string, ratings map[string]int) ([]string, error) {
	k, final := keysOf(id), []byte(nil)
	if ratings != nil {
		final, _ = json.Marshal(ratings) // texts and numbers always encode
	}
	nodes, err := toldScript.Run(ctx, s.scripts, []string{k.match(), k.nodes()}, final).StringSlice()
	if err != nil {
		return nil, fmt.Errorf("redismatch: told %s: %w", id, err)
	}
	return nodes, nil
}

// settledAtOnce is how many matches are marked at a time; on a real Redis they
// share round trips.
const settledAtOnce = 64

// Settled marks matches whose results are in the ledger, or are dead letters. What
// the standings are read from lives longer for a result without them: an operator
// may requeue it.
func (s *Store) Settled(ctx context.Context, results []match.Result) error {
	var group errgroup.Group
	group.SetLimit(settledAtOnce)
	for _, r := range results {
		group.Go(func() error {
			k := keysOf(r.Match)
			names := []string{k.match(), k.seq(), k.result(), k.tomb()}
			if r.ArenaID != "" {
				names = append(names, k.placing()...)
			}
			ttl := int64(readableMS)
			if !r.Whole() {
				ttl = keptMS
			}
			err := settledScript.Run(ctx, s.scripts, names, r.Match, ttl, tombMS).Err()
			if err != nil {
				return fmt.Errorf("redismatch: settled %s: %w", r.Match, err)
			}
			return nil
		})
	}
	return group.Wait()
}
