package cli

import (
	"context"
	"fmt"

	"laststand/internal/identity"
)

type auditCmd struct {
	List auditList `cmd:"" help:"List what operators changed or read, newest first."`
}

type auditList struct {
	Game  string `placeholder:"NAME" help:"List only entries of this game."`
	Actor string `placeholder:"ID" help:"List only entries of this actor: the --sub of the token, or \"command\" for these commands."`
	Limit int    `default:"50" placeholder:"N" help:"List at most N entries (default 50)."`
}

// Run prints a table of audit entries.
func (c *auditList) Run(ctx context.Context, admin *adminClient) error {
	if err := checkLimit(c.Limit); err != nil {
		return err
	}
	entries := listItems[identity.AuditEntry](ctx, admin, "/audit-log", "entries", listQuery("game", c.Game, "actor", c.Actor))
	return printTable(admin, "TIME (UTC)\tACTOR\tACTION\tGAME\tTARGET\tSTATUS\tID", firstItems(entries, c.Limit), func(e identity.AuditEntry) []any {
		return []any{formatTime(e.StartedAt), e.Actor, e.Action, e.Game, e.Target, statusText(e), e.ID}
	})
}

// statusText returns the HTTP status of an entry, or "?" if the entry is not complete.
func statusText(e identity.AuditEntry) string {
	if e.Status == 0 {
		return "?"
	}
	return fmt.Sprint(e.Status)
}
