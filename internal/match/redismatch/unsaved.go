package redismatch

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/match"
)

// Unsaved has the answers of settled matches that the ledger does not have yet. Together
// with Matches it implements answers.Store.
type Unsaved struct{ connection }

// ClaimAnswers claims settled matches whose answers wait, see answers.Store. It starts at a
// random partition.
func (u *Unsaved) ClaimAnswers(ctx context.Context, now, until int64, limit int) (ids []string, waiting int64, err error) {
	counts := make([]*redis.IntCmd, Partitions)
	_, err = u.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i := range counts {
			counts[i] = pipe.ZCard(ctx, partitionKeys(i).unsaved())
		}
		return nil
	})
	if err != nil {
		return nil, 0, wrap("count matches with answers", "", err)
	}
	first := rand.IntN(Partitions) //nolint:gosec // any will do
	for i := range Partitions {
		p := (first + i) % Partitions
		waiting += counts[p].Val()
		if counts[p].Val() == 0 || len(ids) == limit {
			continue
		}
		claimed, err := claimAnswersScript.Run(ctx, u.client, []string{partitionKeys(p).unsaved()}, now, until, limit-len(ids)).StringSlice()
		if err != nil {
			return nil, 0, wrap("claim answers", "", err)
		}
		ids = append(ids, claimed...)
	}
	return ids, waiting, nil
}

// PostponeAnswers changes the ends of claims, see answers.Store.
func (u *Unsaved) PostponeAnswers(ctx context.Context, ids []string, until int64) error {
	_, err := u.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, id := range ids {
			pipe.ZAddXX(ctx, newKeys(id).unsaved(), redis.Z{Score: float64(until), Member: id})
		}
		return nil
	})
	return wrap("postpone answers", "", err)
}

// ReleaseAnswers lets a match expire whose answers need not wait any more, see
// answers.Store.
func (u *Unsaved) ReleaseAnswers(ctx context.Context, id string) error {
	k := newKeys(id)
	_, err := u.client.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, key := range k.resultKeys(anyMode) {
			pipe.PExpire(ctx, key, settledTTLMS*time.Millisecond)
		}
		pipe.ZRem(ctx, k.unsaved(), id)
		return nil
	})
	return wrap("release answers of", id, err)
}

// totalsPerScan is about how many fields one command of AllTotals reads.
const totalsPerScan = 1000

// AllTotals returns the totals of every player who has answered or left, see answers.Store.
func (u *Unsaved) AllTotals(ctx context.Context, id string) (map[string]match.Totals, error) {
	sums, left := map[string]string{}, map[string]bool{}
	fields := u.client.HScan(ctx, newKeys(id).totals(), 0, "", totalsPerScan).Iterator()
	for fields.Next(ctx) {
		field := fields.Val()
		if !fields.Next(ctx) {
			break
		}
		if player, hasLeft := strings.CutPrefix(field, leftField("")); hasLeft {
			left[player] = true
		} else if !strings.HasPrefix(field, "|") {
			sums[field] = fields.Val()
		}
	}
	if err := fields.Err(); err != nil {
		return nil, wrap("totals of", id, err)
	}
	totals := make(map[string]match.Totals, len(sums))
	for player, text := range sums {
		totals[player] = decodeTotals(text, "")
	}
	for player := range left {
		t := totals[player]
		t.HasLeft = true
		totals[player] = t
	}
	return totals, nil
}

// recordsPerCommand limits the records that one command reads.
const recordsPerCommand = 1000

// RecordsOf returns the records of players, see answers.Store.
func (u *Unsaved) RecordsOf(ctx context.Context, id string, players []string, questions int) (records []match.Record, unreadable int, err error) {
	var fields []string
	for question := range questions {
		for _, player := range players {
			fields = append(fields, answerField(question, player))
		}
	}
	key := newKeys(id).answers()
	for len(fields) > 0 {
		n := min(len(fields), recordsPerCommand)
		page, err := u.client.HMGet(ctx, key, fields[:n]...).Result()
		if err != nil {
			return nil, 0, wrap("answers of", id, err)
		}
		fields = fields[n:]
		for _, value := range page {
			raw, isSet := value.(string)
			if !isSet || isRefusal(raw) {
				continue
			}
			record, err := decodeRecord(raw)
			if err != nil {
				unreadable++
				continue
			}
			records = append(records, record)
		}
	}
	return records, unreadable, nil
}
