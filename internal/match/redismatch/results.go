package redismatch

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"laststand/internal/match"
)

// Results stores the results that wait for the ledger. It implements
// match.ResultStore and the list of pending results that settlement reads.
type Results struct {
	connection
	matches *Matches // has the standings of large matches
}

// IsPending reports whether the result of a match waits for the ledger.
func (r *Results) IsPending(ctx context.Context, id string) (bool, error) {
	pending, err := r.client.HExists(ctx, newKeys(id).result(), id).Result()
	return pending, wrap("check pending result of", id, err)
}

// CountUnsettled counts the results that wait for the ledger, in all partitions.
func (r *Results) CountUnsettled(ctx context.Context) (int64, error) {
	counts, err := r.countPending(ctx)
	var n int64
	for _, w := range counts {
		n += w
	}
	return n, err
}

// maxStandingsPerRead limits the standings that one call of ReadResults returns. The call
// returns the last result whole, even if that exceeds the limit.
const maxStandingsPerRead = 20_000

// ReadResults reads up to limit results that wait for the ledger. It starts at a
// random partition and continues in the order of partitions. A result
// without standings means that they no longer exist, or that this node cannot
// read them. The error describes these results, and those that ReadResults left
// out because it cannot read them now. ReadResults returns all others even with an
// error.
func (r *Results) ReadResults(ctx context.Context, limit int) ([]match.Result, error) {
	counts, err := r.countPending(ctx)
	if err != nil {
		return nil, err
	}
	var results []match.Result
	var errs []error
	standings, first := 0, rand.IntN(Partitions) //nolint:gosec // any will do
	for i := 0; i < Partitions && len(results) < limit; i++ {
		p := (first + i) % Partitions
		if counts[p] == 0 {
			continue
		}
		part, err := r.readResults(ctx, p, limit-len(results))
		errs = append(errs, err)
		for _, result := range part {
			if len(results) == limit || standings >= maxStandingsPerRead {
				break
			}
			if err := r.CompleteStandings(ctx, &result); err != nil {
				errs = append(errs, err)
				if !errors.Is(err, match.ErrNotFound) {
					continue
				}
			}
			standings += len(result.Standings)
			results = append(results, result)
		}
	}
	return results, errors.Join(errs...)
}

// CompleteStandings adds the standings that a large result lacks, see
// match.CompleteStandings. A result that cannot be decoded stays as it is.
func (r *Results) CompleteStandings(ctx context.Context, result *match.Result) error {
	if result.Undecodable != "" {
		return nil
	}
	return match.CompleteStandings(ctx, r.matches, result)
}

// countPending counts the pending results of each partition.
func (r *Results) countPending(ctx context.Context) ([]int64, error) {
	cmds := make([]*redis.IntCmd, Partitions)
	_, err := r.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i := range cmds {
			cmds[i] = pipe.HLen(ctx, partitionKeys(i).result())
		}
		return nil
	})
	if err != nil {
		return nil, wrap("count pending results", "", err)
	}
	counts := make([]int64, Partitions)
	for i, cmd := range cmds {
		counts[i] = cmd.Val()
	}
	return counts, nil
}

// readResults reads about limit results of a partition, or all if there are
// few. A result that cannot be decoded has its text in Undecodable, and the game of its match.
func (r *Results) readResults(ctx context.Context, p, limit int) ([]match.Result, error) {
	raw, _, err := r.client.HScan(ctx, partitionKeys(p).result(), 0, "", int64(limit)).Result()
	if err != nil {
		return nil, wrap("results", "", err)
	}
	results := make([]match.Result, 0, len(raw)/2)
	for pair := range slices.Chunk(raw, 2) {
		var result match.Result
		if err := json.Unmarshal([]byte(pair[1]), &result); err != nil {
			game, _ := r.client.HGet(ctx, newKeys(pair[0]).match(), "game").Result() // "" if the match is gone
			result = match.Result{Match: pair[0], Game: game, Undecodable: pair[1]}
		}
		results = append(results, result)
	}
	return results, nil
}

// markSettledConcurrency is how many matches are marked at the same time. On a real
// Redis they share round trips.
const markSettledConcurrency = 64

// MarkSettled marks matches whose results are in the ledger as settled. Their answers
// wait for the ledger from then on, for at most matchTTLMS. OfferAgain knows the results for
// keptTTLMS. It stores the final ratings of results that count for
// leaderboards, so that their players can be notified. Callers may repeat it.
func (r *Results) MarkSettled(ctx context.Context, results []match.Result) error {
	var group errgroup.Group
	group.SetLimit(markSettledConcurrency)
	for _, result := range results {
		group.Go(func() error {
			k := newKeys(result.Match)
			keyNames := append([]string{k.match(), k.seq(), k.result(), k.tombstone(), k.unsaved(), k.kept(), k.settled()}, k.resultKeys(result.Mode)...)
			ratings, _ := json.Marshal(result.Ratings()) // texts and numbers always encode
			err := markSettledScript.Run(ctx, r.scripts, keyNames,
				result.Match, matchTTLMS, tombstoneTTLMS, boolArg(result.CountsForLeaderboards), ratings, keptTTLMS, maxKept).Err()
			if err != nil {
				return wrap("mark settled", result.Match, err)
			}
			return nil
		})
	}
	return group.Wait()
}
