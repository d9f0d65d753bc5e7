package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"laststand/internal/eventq"
)

type queueList struct {
	Game string `placeholder:"NAME" help:"List only the queue of this game."`
}

// Help implements kong's help provider.
func (*queueList) Help() string {
	return "OLDEST is the age of the oldest behaviour. NEXT BATCH is when the server sends the next batch.\n\nExample: server queue list --game demo"
}

// Run lists queues.
func (l *queueList) Run(flags *cli, output commandOutput) error {
	if l.Game != "" {
		return callAndPrintQueue(flags, output, http.MethodGet, gameFlag{l.Game}.path("/queue"), nil)
	}
	return withAdmin(flags, func(ctx context.Context, admin adminClient) error {
		queues, err := allQueues(ctx, admin)
		if err != nil {
			return err
		}
		return printQueues(output, queues...)
	})
}

// allQueues returns the queues of all games.
func allQueues(ctx context.Context, admin adminClient) ([]queueState, error) {
	var queues []queueState
	query := url.Values{"limit": {"200"}}
	for {
		var page struct {
			Queues     []queueState
			NextCursor string `json:"next_cursor"`
		}
		if err := admin.call(ctx, http.MethodGet, "/queues?"+query.Encode(), nil, &page); err != nil {
			return nil, err
		}
		queues = append(queues, page.Queues...)
		if page.NextCursor == "" {
			return queues, nil
		}
		query.Set("cursor", page.NextCursor)
	}
}

// emptyCell is the text for an empty value in a table.
const emptyCell = "-"

// printQueues prints a table of queues.
func printQueues(output commandOutput, queues ...queueState) error {
	table := tabwriter.NewWriter(output.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "GAME\tQUEUED\tIN FLIGHT\tOLDEST\tNEXT BATCH\tWORKER POOL\tSENT\tDROPPED\tPAUSED\tLAST ERROR")
	for _, q := range queues {
		counts := q.Counts
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", q.Game, q.lengthText(), counts.InFlight, q.oldestAge(), q.nextBatchText(),
			cmp.Or(q.Pool, emptyCell), counts.Sent, formatDropped(counts), cmp.Or(q.Paused, emptyCell), q.lastErrorText())
	}
	return table.Flush()
}

// lengthText returns how many behaviours are queued, and the maximum if an operator has set one.
func (q queueState) lengthText() string {
	if q.MaxLen == 0 {
		return fmt.Sprint(q.Counts.Queued)
	}
	return fmt.Sprintf("%d of %d", q.Counts.Queued, q.MaxLen)
}

// oldestAge returns the age of the oldest behaviour, for a table.
func (q queueState) oldestAge() string {
	if q.OldestAt == 0 {
		return emptyCell
	}
	return formatDuration(q.AsOf - q.OldestAt)
}

// nextBatchText returns when the server sends the next batch, for a table.
func (q queueState) nextBatchText() string {
	dueAt := max(q.DueAt, q.CoolUntil)
	switch {
	case q.DueAt == 0:
		return emptyCell
	case dueAt <= q.AsOf:
		return "now"
	}
	return "in " + formatDuration(dueAt-q.AsOf)
}

// lastErrorText returns the last error of the sink and its age, for a table.
func (q queueState) lastErrorText() string {
	if q.Error == "" {
		return emptyCell
	}
	return formatDuration(q.AsOf-q.ErrorAt) + " ago: " + q.Error
}

// formatDuration formats a duration in ms, rounded. A negative duration counts as 0.
func formatDuration(ms int64) string {
	d := time.Duration(max(0, ms)) * time.Millisecond
	switch {
	case d >= time.Minute:
		d = d.Round(time.Second)
	case d >= time.Second:
		d = d.Round(100 * time.Millisecond)
	}
	return d.String()
}

// formatDropped formats how many behaviours the queue dropped, with the reasons.
func formatDropped(counts eventq.Counts) string {
	var sum int64
	var reasons []string
	for _, reason := range eventq.Reasons() {
		if n := counts.Dropped[reason]; n > 0 {
			sum += n
			reasons = append(reasons, fmt.Sprintf("%s %d", reason, n))
		}
	}
	if sum == 0 {
		return "0"
	}
	return fmt.Sprintf("%d (%s)", sum, strings.Join(reasons, ", "))
}
