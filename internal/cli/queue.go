package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"laststand/internal/config"
	"laststand/internal/eventq"
	"laststand/internal/ledger"
	"laststand/internal/ops"
)

type queueCmd struct {
	List      queueList      `cmd:"" help:"List the behaviour queues."`
	Peek      queuePeek      `cmd:"" help:"Print the oldest behaviours of a queue."`
	Drain     queueDrain     `cmd:"" help:"Send all queued behaviours now, or discard them."`
	Pause     queuePause     `cmd:"" help:"Pause the reporting of a game."`
	Resume    queueResume    `cmd:"" help:"Resume the reporting of a game."`
	SetMaxLen queueSetMaxLen `cmd:"" help:"Set the maximum length of a queue."`
	ShowKey   queueShowKey   `cmd:"" help:"Print the generated key that signs the batches of a game."`
}

type queueList struct {
	Game string `placeholder:"NAME" help:"List only the queue of this game."`
}

func (l *queueList) Run(ctx context.Context, admin *adminClient) error {
	if l.Game != "" {
		return queueTable.callAndPrint(ctx, admin, http.MethodGet, gamePath(l.Game, "/queue"), nil)
	}
	return queueTable.printList(ctx, admin, "/queues", "queues", listQuery(), 0)
}

type queuePeek struct {
	gameFlag
	Limit int `default:"50" placeholder:"N" help:"Print at most N behaviours, up to 200 (default 50)."`
}

func (p *queuePeek) Run(ctx context.Context, admin *adminClient) error {
	var peeked struct{ Items []json.RawMessage }
	query := url.Values{"limit": {strconv.Itoa(p.Limit)}}
	if err := admin.call(ctx, http.MethodGet, p.path("/queue/items?"+query.Encode()), nil, &peeked); err != nil {
		return err
	}
	for _, item := range peeked.Items {
		if err := admin.printf("%s\n", item); err != nil {
			return err
		}
	}
	return nil
}

type queueDrain struct {
	gameFlag
	Discard bool `help:"Discard the queued behaviours instead; they count as dropped with reason shutdown."`
}

func (d *queueDrain) Run(ctx context.Context, admin *adminClient) error {
	var drained ops.DrainedQueue
	if err := admin.call(ctx, http.MethodPost, d.path("/queue/drain"), map[string]bool{"discard": d.Discard}, &drained); err != nil {
		return err
	}
	if d.Discard {
		return admin.printf("%s: %d behaviours discarded\n", d.Game, drained.Discarded)
	}
	if remaining := drained.Counts.Queued + drained.Counts.InFlight; remaining > 0 {
		return fmt.Errorf("%s: %d behaviours are left (%d in flight); see `server queue list --game %s` for the last error", d.Game, remaining, drained.Counts.InFlight, d.Game)
	}
	return admin.printf("%s: the queue is empty\n", d.Game)
}

type queuePause struct {
	gameFlag
	Reason string `required:"" placeholder:"TEXT" help:"The reason that the list of queues shows."`
}

func (p *queuePause) Run(ctx context.Context, admin *adminClient) error {
	return queueTable.callAndPrint(ctx, admin, http.MethodPost, p.path("/queue/pause"), map[string]string{"reason": p.Reason})
}

type queueResume struct{ gameFlag }

func (r *queueResume) Run(ctx context.Context, admin *adminClient) error {
	return queueTable.callAndPrint(ctx, admin, http.MethodPost, r.path("/queue/resume"), nil)
}

type queueSetMaxLen struct {
	gameFlag
	MaxLen int `arg:"" help:"The maximum number of behaviours; 0 restores the configured length."`
}

func (b *queueSetMaxLen) Run(ctx context.Context, admin *adminClient) error {
	return queueTable.callAndPrint(ctx, admin, http.MethodPatch, b.path("/queue"), map[string]int{"max_len": b.MaxLen})
}

type queueShowKey struct{ gameFlag }

func (k *queueShowKey) Run(ctx context.Context, flags *Flags, output Output) error {
	return flags.withLedger(func(c *config.Config, l *ledger.Ledger) error {
		if err := c.CheckGame(k.Game); err != nil {
			return err
		}
		if s := c.Sink(k.Game); s.Type != config.SinkWebhook {
			return fmt.Errorf("the sink of game %s has type %s; the server generates keys only for type webhook", k.Game, s.Type)
		}
		return printGeneratedKeys(ctx, c.SinkKeys(k.Game), l, output)
	})
}

var queueTable = table[ops.Queue]{"GAME\tQUEUED\tIN FLIGHT\tOLDEST\tNEXT BATCH\tWORKER POOL\tSENT\tDROPPED\tPAUSED\tLAST ERROR", queueRow}

func queueRow(q ops.Queue) []any {
	length, oldest, lastError := fmt.Sprint(q.Counts.Queued), emptyCell, emptyCell
	if q.MaxLen > 0 { // an operator has set it
		length = fmt.Sprintf("%d of %d", q.Counts.Queued, q.MaxLen)
	}
	if q.OldestAt > 0 {
		oldest = formatDuration(q.AsOf - q.OldestAt)
	}
	if q.Error != "" {
		lastError = formatDuration(q.AsOf-q.ErrorAt) + " ago: " + q.Error
	}
	return []any{
		q.Game, length, q.Counts.InFlight, oldest, nextBatchText(q), cmp.Or(q.Pool, emptyCell),
		q.Counts.Sent, formatDropped(q.Counts), cmp.Or(q.Paused, emptyCell), lastError,
	}
}

// nextBatchText returns when the server sends the next batch, for a table.
func nextBatchText(q ops.Queue) string {
	dueAt := max(q.DueAt, q.CoolUntil)
	switch {
	case q.DueAt == 0:
		return emptyCell
	case dueAt <= q.AsOf:
		return "now"
	}
	return "in " + formatDuration(dueAt-q.AsOf)
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
