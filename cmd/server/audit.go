package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"text/tabwriter"
	"time"

	"laststand/internal/identity"
)

type auditCmd struct {
	List auditList `cmd:"" help:"List what operators changed or read, newest first."`
}

// Help implements kong's help provider.
func (*auditCmd) Help() string {
	return "The audit log has an entry of each request by which an operator changes something or reads something sensitive. " +
		opsHelp + "\n\nExample: server audit list --game demo"
}

type auditList struct {
	Game  string `placeholder:"NAME" help:"List only entries of this game."`
	Actor string `placeholder:"ID" help:"List only entries of this actor: the --sub of the token, or \"command\" for these commands."`
	Limit int    `default:"50" placeholder:"N" help:"List at most N entries (default 50)."`
}

// Help implements kong's help provider.
func (*auditList) Help() string {
	return "STATUS is the HTTP status of the response. \"?\" means that the request is in progress, or that its node crashed.\n\n" +
		"Example: server audit list --game demo --limit 20"
}

// Run prints a table of audit entries.
func (c *auditList) Run(flags *cli, output commandOutput) error {
	if c.Limit < 1 {
		return fmt.Errorf("--limit %d is out of range; use 1 or more", c.Limit)
	}
	return withAdmin(flags, func(ctx context.Context, admin adminClient) error {
		table := tabwriter.NewWriter(output.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "TIME (UTC)\tACTOR\tACTION\tGAME\tTARGET\tSTATUS\tID")
		if err := c.print(ctx, admin, table); err != nil {
			return err
		}
		return table.Flush()
	})
}

// print adds a row to the table for each entry, up to the limit. It fetches pages of at most 200.
func (c *auditList) print(ctx context.Context, admin adminClient, table *tabwriter.Writer) error {
	query := url.Values{}
	for name, value := range map[string]string{"game": c.Game, "actor": c.Actor} {
		if value != "" {
			query.Set(name, value)
		}
	}
	for remaining := c.Limit; remaining > 0; {
		query.Set("limit", strconv.Itoa(min(remaining, 200)))
		var page struct {
			Entries    []identity.AuditEntry
			NextCursor string `json:"next_cursor"`
		}
		if err := admin.call(ctx, http.MethodGet, "/audit-log?"+query.Encode(), nil, &page); err != nil {
			return err
		}
		for _, e := range page.Entries {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", time.UnixMilli(e.StartedAt).UTC().Format(time.DateTime), e.Actor, e.Action, e.Game, e.Target, statusText(e), e.ID)
		}
		remaining -= len(page.Entries)
		if page.NextCursor == "" {
			return nil
		}
		query.Set("cursor", page.NextCursor)
	}
	return nil
}

// statusText returns the HTTP status of an entry, or "?" if the entry is not complete.
func statusText(e identity.AuditEntry) string {
	if e.Status == 0 {
		return "?"
	}
	return strconv.Itoa(e.Status)
}
