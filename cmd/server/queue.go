package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"laststand/internal/eventq"
	"laststand/internal/ledger"
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

// Help implements kong's help provider.
func (*queueCmd) Help() string {
	return "A behaviour queue holds the behaviours of a game until the server reports them, for at most 3 minutes. " + opsHelp + "\n\n" +
		"Example: server queue list"
}

// queueState is the state of a behaviour queue as the admin API returns it. AsOf is the time of
// the state, in epoch ms.
type queueState struct {
	eventq.Status
	AsOf      int64 `json:"as_of"`
	Discarded int64 `json:"discarded"` // behaviours that a drain with discard has discarded
}

type queuePeek struct {
	gameFlag
	Limit int `default:"50" placeholder:"N" help:"Print at most N behaviours, up to 200 (default 50)."`
}

// Help implements kong's help provider.
func (*queuePeek) Help() string {
	return "Prints one JSON object per line. The behaviours stay in the queue. They are personal data.\n\n" +
		"Example: server queue peek --game demo --limit 3"
}

// Run prints behaviours.
func (p *queuePeek) Run(flags *cli, output commandOutput) error {
	return withAdmin(flags, func(ctx context.Context, admin adminClient) error {
		var peeked struct{ Items []json.RawMessage }
		query := url.Values{"limit": {strconv.Itoa(p.Limit)}}
		if err := admin.call(ctx, http.MethodGet, p.path("/queue/items?"+query.Encode()), nil, &peeked); err != nil {
			return err
		}
		for _, item := range peeked.Items {
			fmt.Fprintf(output.stdout, "%s\n", item)
		}
		return nil
	})
}

type queueDrain struct {
	gameFlag
	Discard bool `help:"Discard the queued behaviours instead; they count as dropped with reason shutdown."`
}

// Help implements kong's help provider.
func (*queueDrain) Help() string {
	return "The server sends at the configured rate. The command waits up to 20 s, and exits with 1 if behaviours are left.\n\n" +
		"Example: server queue drain --game demo"
}

// Run sends or discards the queued behaviours.
func (d *queueDrain) Run(flags *cli, output commandOutput) error {
	return withAdmin(flags, func(ctx context.Context, admin adminClient) error {
		var state queueState
		if err := admin.call(ctx, http.MethodPost, d.path("/queue/drain"), map[string]bool{"discard": d.Discard}, &state); err != nil {
			return err
		}
		if d.Discard {
			fmt.Fprintf(output.stdout, "%s: %d behaviours discarded\n", d.Game, state.Discarded)
			return nil
		}
		if remaining := state.Counts.Queued + state.Counts.InFlight; remaining > 0 {
			return fmt.Errorf("%s: %d behaviours are left (%d in flight); see `server queue list --game %s` for the last error", d.Game, remaining, state.Counts.InFlight, d.Game)
		}
		fmt.Fprintf(output.stdout, "%s: the queue is empty\n", d.Game)
		return nil
	})
}

type queuePause struct {
	gameFlag
	Reason string `required:"" placeholder:"TEXT" help:"The reason that the list of queues shows."`
}

// Help implements kong's help provider.
func (*queuePause) Help() string {
	return "The queue still accepts behaviours. It drops those that become too old.\n\n" +
		"Example: server queue pause --game demo --reason 'receiver maintenance until noon'"
}

// Run pauses a queue.
func (p *queuePause) Run(flags *cli, output commandOutput) error {
	return callAndPrintQueue(flags, output, http.MethodPost, p.path("/queue/pause"), map[string]string{"reason": p.Reason})
}

type queueResume struct{ gameFlag }

// Help implements kong's help provider.
func (*queueResume) Help() string { return "Example: server queue resume --game demo" }

// Run resumes a queue.
func (r *queueResume) Run(flags *cli, output commandOutput) error {
	return callAndPrintQueue(flags, output, http.MethodPost, r.path("/queue/resume"), nil)
}

type queueSetMaxLen struct {
	gameFlag
	MaxLen int `arg:"" help:"The maximum number of behaviours; 0 restores the configured length."`
}

// Help implements kong's help provider.
func (*queueSetMaxLen) Help() string {
	return "The length applies immediately on all nodes, until you set another length. The queue drops the oldest behaviours above it.\n\n" +
		"Example: server queue set-max-len --game demo 50000"
}

// Run sets the maximum length of a queue.
func (b *queueSetMaxLen) Run(flags *cli, output commandOutput) error {
	return callAndPrintQueue(flags, output, http.MethodPatch, b.path("/queue"), map[string]int{"max_len": b.MaxLen})
}

// callAndPrintQueue sends a request about a queue, and prints the queue from the response.
func callAndPrintQueue(flags *cli, output commandOutput, method, path string, body any) error {
	return withAdmin(flags, func(ctx context.Context, admin adminClient) error {
		var state queueState
		if err := admin.call(ctx, method, path, body, &state); err != nil {
			return err
		}
		return printQueues(output, state)
	})
}

type queueShowKey struct{ gameFlag }

// Help implements kong's help provider.
func (*queueShowKey) Help() string {
	return "The receiver needs the key to verify signatures. The command reads the database, also beside a running server.\n\n" +
		"Example: server queue show-key --game demo"
}

// Run prints the keys that the server generated for the sink of a game, one per line.
func (k *queueShowKey) Run(flags *cli, output commandOutput) error {
	return withLedger(flags, func(ctx context.Context, c *config, l *ledger.Ledger) error {
		if err := c.checkGame(k.Game); err != nil {
			return err
		}
		if s := c.gameSink(k.Game); s.Type != sinkWebhook {
			return fmt.Errorf("the sink of game %s has type %s; the server generates keys only for type webhook", k.Game, s.Type)
		}
		return c.sinkKeySource(k.Game).print(ctx, l, output)
	})
}
