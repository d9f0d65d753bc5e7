package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"laststand/internal/ops"
)

type matchesCmd struct {
	Void matchesVoid `cmd:"" help:"Void a question of a settled match."`
}

type matchesVoid struct {
	gameFlag
	Match    string `required:"" placeholder:"ID" help:"The match."`
	Question int    `required:"" placeholder:"N" help:"The number of the question; the first is 0."`
	Reason   string `required:"" placeholder:"TEXT" help:"The reason; the server keeps it."`
}

func (m *matchesVoid) Run(ctx context.Context, admin *adminClient) error {
	var voided ops.Voided
	path := m.path(fmt.Sprintf("/matches/%s/voids/%d", url.PathEscape(m.Match), m.Question))
	if err := admin.call(ctx, http.MethodPut, path, map[string]string{"reason": m.Reason}, &voided); err != nil {
		return err
	}
	if !voided.IsNew {
		return admin.printf("%s: question %d was void before\n", m.Match, m.Question)
	}
	return admin.printf("%s: question %d is void\n", m.Match, m.Question)
}
