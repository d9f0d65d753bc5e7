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
	List   queueList   `cmd:"" help:"List the queues of behaviours."`
	Peek   queuePeek   `cmd:"" help:"Print the oldest behaviours of a queue."`
	Drain  queueDrain  `cmd:"" help:"Have a queue sent now, or drop what it holds."`
	Pause  queuePause  `cmd:"" help:"Have nothing of a game sent."`
	Resume queueResume `cmd:"" help:"End a pause."`
	Bound  queueBound  `cmd:"" help:"Bound a queue otherwise than configured."`
	Key    queueKey    `cmd:"" help:"Print the generated key of a game's webhook."`
}

// Help implements kong's help provider.
func (*queueCmd) Help() string {
	return "Behaviours wait here to be reported, for 3 minutes at the most. Speaks to the running server, at its --ops-listen.\n\n" +
		"Example: server queue list"
}

// queueState is the state of a queue, as the server tells it.
type queueState struct {
	eventq.Status
	AsOf      int64 `json:"as_of"`
	Discarded int64 `json:"discarded"` // by a drain
}

type queuePeek struct {
	ofGame
	Limit int `default:"50" placeholder:"N" help:"How many at the most, up to 200 (default 50)."`
}

// Help implements kong's help provider.
func (*queuePeek) Help() string {
	return "Prints a line of JSON each, and leaves them there. What it prints is personal data.\n\n" +
		"Example: server queue peek --game demo --limit 3"
}

// Run prints behaviours.
func (p *queuePeek) Run(flags *cli, to console) error {
	return withAdmin(flags, func(ctx context.Context, a adminClient) error {
		var peeked struct{ Items []json.RawMessage }
		query := url.Values{"limit": {strconv.Itoa(p.Limit)}}
		if err := a.call(ctx, http.MethodGet, p.path("/queue/peek?"+query.Encode()), nil, &peeked); err != nil {
			return err
		}
		for _, item := range peeked.Items {
			fmt.Fprintf(to.out, "%s\n", item)
		}
		return nil
	})
}

type queueDrain struct {
	ofGame
	Discard bool `help:"Drop what is queued instead; it is counted as shutdown."`
}

// Help implements kong's help provider.
func (*queueDrain) Help() string {
	return "What is queued leaves at once, as the rate allows; waits up to 20 s for that, and ends with 1 if something is left.\n\n" +
		"Example: server queue drain --game demo"
}

// Run empties a queue.
func (d *queueDrain) Run(flags *cli, to console) error {
	return withAdmin(flags, func(ctx context.Context, a adminClient) error {
		var q queueState
		if err := a.call(ctx, http.MethodPost, d.path("/queue/drain"), map[string]bool{"discard": d.Discard}, &q); err != nil {
			return err
		}
		if d.Discard {
			fmt.Fprintf(to.out, "%s: %d behaviours dropped\n", d.Game, q.Discarded)
			return nil
		}
		if left := q.Counts.Queued + q.Counts.InFlight; left > 0 {
			return fmt.Errorf("%s: %d behaviours are left (%d in flight); `server queue list --game %s` may say why", d.Game, left, q.Counts.InFlight, d.Game)
		}
		fmt.Fprintf(to.out, "%s: the queue is empty\n", d.Game)
		return nil
	})
}

type queuePause struct {
	ofGame
	Why string `required:"" placeholder:"TEXT" help:"Why; it is shown."`
}

// Help implements kong's help provider.
func (*queuePause) Help() string {
	return "What is offered is queued on, and dropped when it is too old.\n\n" +
		"Example: server queue pause --game demo --why 'their maintenance until noon'"
}

// Run pauses a queue.
func (p *queuePause) Run(flags *cli, to console) error {
	return askQueue(flags, to, http.MethodPost, p.path("/queue/pause"), map[string]string{"why": p.Why})
}

type queueResume struct{ ofGame }

// Help implements kong's help provider.
func (*queueResume) Help() string { return "Example: server queue resume --game demo" }

// Run ends a pause.
func (r *queueResume) Run(flags *cli, to console) error {
	return askQueue(flags, to, http.MethodPost, r.path("/queue/resume"), nil)
}

type queueBound struct {
	ofGame
	MaxLen int `arg:"" help:"How many behaviours it may hold; 0 for what is configured."`
}

// Help implements kong's help provider.
func (*queueBound) Help() string {
	return "Holds at all nodes at once, and until it is set again; the oldest beyond it are dropped.\n\n" +
		"Example: server queue bound --game demo 50000"
}

// Run bounds a queue.
func (b *queueBound) Run(flags *cli, to console) error {
	return askQueue(flags, to, http.MethodPut, b.path("/queue/bound"), map[string]int{"max_len": b.MaxLen})
}

// askQueue asks for a queue, or for it to be changed, and prints what it is
// then.
func askQueue(flags *cli, to console, method, path string, body any) error {
	return withAdmin(flags, func(ctx context.Context, a adminClient) error {
		var q queueState
		if err := a.call(ctx, method, path, body, &q); err != nil {
			return err
		}
		return printQueues(to, q)
	})
}

type queueKey struct{ ofGame }

// Help implements kong's help provider.
func (*queueKey) Help() string {
	return "The receiver of the webhook needs it to verify signatures. Works beside a running server.\n\n" +
		"Example: server queue key --game demo"
}

// Run prints the key of a webhook that no file has.
func (k *queueKey) Run(flags *cli, to console) error {
	return withLedger(flags, func(ctx context.Context, c *config, l *ledger.Ledger) error {
		if _, known := c.Games[k.Game]; !known {
			return fmt.Errorf("there is no game %q in the configuration", k.Game)
		}
		if s := c.sink(k.Game); s.Type != sinkWebhook {
			return fmt.Errorf("the sink of %s is of type %s, and has no generated key", k.Game, s.Type)
		}
		return c.sinkKeyPlace(k.Game).print(ctx, l, to)
	})
}
