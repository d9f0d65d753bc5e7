package redisqueue

import (
	"context"
	"fmt"
	"slices"
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
	reply, fields := redisx.Reply(values), make(map[string]string)
	for pair := range slices.Chunk(reply.Texts(0), 2) {
		fields[pair[0]] = pair[1]
	}
	number := func(field string) int64 {
		n, _ := strconv.ParseInt(fields[field], 10, 64) // "" is 0
		return n
	}
	status := eventq.Status{
		Game: game, MaxLen: int(number("max_len")), OldestAt: reply.Number(1),
		Paused: fields["paused"], Error: fields["error"], ErrorAt: number("error_at"),
		Counts: eventq.Counts{
			Offered: number("offered"), Sent: number("sent"), InFlight: number("in_flight"), Dropped: map[eventq.Reason]int64{},
		},
	}
	for field := range fields {
		if reason, ok := strings.CutPrefix(field, dropPrefix); ok {
			status.Counts.Dropped[eventq.Reason(reason)] = number(field)
		}
	}
	if queued := number("queued"); reply.Text(1) != "" {
		status.Counts.Queued = queued
		if status.Paused == "" {
			status.DueAt = reply.Number(2)
		}
	} else if queued > 0 {
		status.Counts.Dropped[eventq.Expired] += queued
	}
	if cool := number("cool_until"); cool > now {
		status.CoolUntil = cool
	}
	return status, nil
}
