package redisqueue

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"laststand/internal/eventq"
	"laststand/internal/redisx"
)

// statusConcurrency is how many games are read at once.
const statusConcurrency = 64

// Status implements eventq.Admin. Items that expired with their list count as
// expired, although only the next move of the queue writes that.
func (s *Store) Status(ctx context.Context, games []string, now int64) ([]eventq.Status, error) {
	all := make([]eventq.Status, len(games))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(statusConcurrency)
	for i, game := range games {
		group.Go(func() error {
			var err error
			all[i], err = s.statusOf(ctx, game, now)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("redisqueue: status: %w", err)
	}
	return all, nil
}

func (s *Store) statusOf(ctx context.Context, game string, now int64) (eventq.Status, error) {
	part := gamePartition(game)
	values, err := statusScript.Run(ctx, s.client, []string{part.queue(game), part.state(game), part.due()}, game).Slice()
	if err != nil {
		return eventq.Status{}, err
	}
	reply := redisx.Reply(values)
	fields := pairs(reply.Texts(0))
	status := eventq.Status{
		Game: game, Counts: parseCounts(fields), DueAt: reply.Number(2),
		MaxLen: int(parseNumber(fields["max_len"])), Pool: fields["pool"], Paused: fields["paused"],
		Error: fields["error"], ErrorAt: parseNumber(fields["error_at"]),
	}
	status.OldestAt = parseNumber(reply.Text(1))
	if queued := parseNumber(fields["queued"]); reply.Text(1) != "" {
		status.Counts.Queued = queued
	} else if queued > 0 {
		status.Counts.Dropped[eventq.Expired] += queued
	}
	if cool := parseNumber(fields["cool_until"]); cool > now {
		status.CoolUntil = cool
	}
	return status, nil
}

// parseCounts reads the counters of a hash, without the number of queued items.
func parseCounts(fields map[string]string) eventq.Counts {
	counts := eventq.Counts{
		Offered: parseNumber(fields["offered"]), Sent: parseNumber(fields["sent"]), InFlight: parseNumber(fields["in_flight"]),
		Dropped: map[eventq.Reason]int64{},
	}
	for field, value := range fields {
		if reason, ok := strings.CutPrefix(field, dropPrefix); ok {
			counts.Dropped[eventq.Reason(reason)] = parseNumber(value)
		}
	}
	return counts
}

func pairs(flat []string) map[string]string {
	fields := make(map[string]string, len(flat)/2)
	for i := 0; i+1 < len(flat); i += 2 {
		fields[flat[i]] = flat[i+1]
	}
	return fields
}

// parseNumber reads a whole number that a script wrote. An empty text is 0.
func parseNumber(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}
