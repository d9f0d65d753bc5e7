package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"text/tabwriter"
	"time"

	"laststand/internal/audit"
)

type actsCmd struct {
	Game  string `placeholder:"NAME" help:"Only those of a game."`
	By    string `placeholder:"ID" help:"Only those of one, as the token's --sub."`
	Limit int    `default:"50" placeholder:"N" help:"How many at the most."`
}

// Help implements kong's help provider.
func (*actsCmd) Help() string {
	return "Lists, newest first, what operators changed by the admin API and by these commands (which are `command`). " +
		"STATUS is what it was answered with; ? means that it is under way, or that its node died.\n\nExample: server acts --game demo --limit 20"
}

// Run lists acts.
func (c *actsCmd) Run(flags *cli, to console) error {
	if c.Limit < 1 {
		return fmt.Errorf("--limit %d: at least 1", c.Limit)
	}
	return withAdmin(flags, func(ctx context.Context, a adminClient) error {
		table := tabwriter.NewWriter(to.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "AT (UTC)\tBY\tWHAT\tGAME\tTARGET\tSTATUS\tID")
		if err := c.print(ctx, a, table); err != nil {
			return err
		}
		return table.Flush()
	})
}

// print prints a line for each act, page by page.
func (c *actsCmd) print(ctx context.Context, a adminClient, table *tabwriter.Writer) error {
	query := url.Values{}
	for name, value := range map[string]string{"game": c.Game, "by": c.By} {
		if value != "" {
			query.Set(name, value)
		}
	}
	for left := c.Limit; left > 0; {
		query.Set("limit", strconv.Itoa(min(left, 200)))
		var page struct {
			Acts       []audit.Act
			NextCursor string `json:"next_cursor"`
		}
		if err := a.call(ctx, http.MethodGet, "/acts?"+query.Encode(), nil, &page); err != nil {
			return err
		}
		for _, act := range page.Acts {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", time.UnixMilli(act.At).UTC().Format(time.DateTime), act.By, act.What, act.Game, act.Target, ended(act), act.ID)
		}
		left -= len(page.Acts)
		if page.NextCursor == "" {
			return nil
		}
		query.Set("cursor", page.NextCursor)
	}
	return nil
}

func ended(a audit.Act) string {
	if a.Status == 0 {
		return "?"
	}
	return strconv.Itoa(a.Status)
}

const (
	// forgetEvery is how often acts are forgotten that are old enough, and
	// forgetStep how many in one step.
	forgetEvery = time.Hour
	forgetStep  = 1000
)

// acts forgets what operators did long ago.
type acts struct {
	ledger interface {
		ForgetActs(ctx context.Context, older time.Duration, limit int) (int64, error)
	}
	keep time.Duration
	log  *slog.Logger
}

// Run forgets until ctx ends, first at once.
func (a acts) Run(ctx context.Context) error {
	again := time.NewTicker(forgetEvery)
	defer again.Stop()
	for {
		if err := a.forget(ctx); err != nil && ctx.Err() == nil {
			a.log.Warn("old acts could not be removed from the audit log; trying again in an hour", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-again.C:
		}
	}
}

func (a acts) forget(ctx context.Context) error {
	for {
		n, err := a.ledger.ForgetActs(ctx, a.keep, forgetStep)
		if err != nil || n < forgetStep {
			return err
		}
	}
}
