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

func (c *auditList) Run(ctx context.Context, admin *adminClient) error {
	if err := checkLimit(c.Limit); err != nil {
		return err
	}
	return auditTable.printList(ctx, admin, "/audit-log", "entries", listQuery("game", c.Game, "actor", c.Actor), c.Limit)
}

var auditTable = table[identity.AuditEntry]{"TIME (UTC)\tACTOR\tACTION\tGAME\tTARGET\tSTATUS\tID", func(e identity.AuditEntry) []any {
	status := "?" // the entry is not complete
	if e.Status != 0 {
		status = fmt.Sprint(e.Status)
	}
	return []any{formatTime(e.StartedAt), e.Actor, e.Action, e.Game, e.Target, status, e.ID}
}}
