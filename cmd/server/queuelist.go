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
func (l *queueList) Run(flags *cli, to console) error {
	if l.Game != "" {
		return askQueue(flags, to, http.MethodGet, ofGame{l.Game}.path("/queue"), nil)
	}
	return withAdmin(flags, func(ctx context.Context, a adminClient) error {
		queues, err := allQueues(ctx, a)
		if err != nil {
			return err
		}
		return printQueues(to, queues...)
	})
}

// allQueues returns the queues of all games.
func allQueues(ctx context.Context, a adminClient) ([]queueState, error) {
	var all []queueState
	query := url.Values{"limit": {"200"}}
	for {
		var page struct {
			Queues     []queueState
			NextCursor string `json:"next_cursor"`
		}
		if err := a.call(ctx, http.MethodGet, "/queues?"+query.Encode(), nil, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Queues...)
		if page.NextCursor == "" {
			return all, nil
		}
		query.Set("cursor", page.NextCursor)
	}
}

// emptyCell is the text for an empty value in a table.
const none = "-"

// printQueues prints a table of queues.
func printQueues(to console, queues ...queueState) error {
	table := tabwriter.NewWriter(to.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "GAME\tQUEUED\tIN FLIGHT\tOLDEST\tNEXT BATCH\tWORKER POOL\tSENT\tDROPPED\tPAUSED\tLAST ERROR")
	for _, q := range queues {
		n := q.Counts
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", q.Game, q.length(), n.InFlight, q.oldest(), q.due(),
			cmp.Or(q.Pool, none), n.Sent, dropped(n), cmp.Or(q.Paused, none), q.lastError())
	}
	return table.Flush()
}

// lengthText returns how many behaviours are queued, and the maximum if an operator has set one.
func (q queueState) length() string {
	if q.MaxLen == 0 {
		return fmt.Sprint(q.Counts.Queued)
	}
	return fmt.Sprintf("%d of %d", q.Counts.Queued, q.MaxLen)
}

// oldestAge returns the age of the oldest behaviour, for a table.
func (q queueState) oldest() string {
	if q.OldestAt == 0 {
		return none
	}
	return span(q.AsOf - q.OldestAt)
}

// nextBatchText returns when the server sends the next batch, for a table.
func (q queueState) due() string {
	at := max(q.DueAt, q.CoolUntil)
	switch {
	case q.DueAt == 0:
		return none
	case at <= q.AsOf:
		return "now"
	}
	return "in " + span(at-q.AsOf)
}

// lastErrorText returns the last error of the sink and its age, for a table.
func (q queueState) lastError() string {
	if q.Error == "" {
		return none
	}
	return span(q.AsOf-q.ErrorAt) + " ago: " + q.Error
}

// formatDuration formats a duration in ms, rounded. A negative duration counts as 0.
func span(ms int64) string {
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
func dropped(c eventq.Counts) string {
	var sum int64
	var reasons []string
	for _, reason := range eventq.Reasons() {
		if n := c.Dropped[reason]; n > 0 {
			sum += n
			reasons = append(reasons, fmt.Sprintf("%s %d", reason, n))
		}
	}
	if sum == 0 {
		return "0"
	}
	return fmt.Sprintf("%d (%s)", sum, strings.Join(reasons, ", "))
}
