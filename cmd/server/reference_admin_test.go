package main

import (
	"strings"
	"testing"

	"laststand/internal/ops"
)

// adminReference returns the text of docs/reference/admin.md.
func adminReference(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("# Admin API\n\n" + generatedNotice + "\n" +
		"The operations listener (`--ops-listen`) serves these routes to tokens of role `admin` that the server's own key signed. " +
		"Bodies and answers are JSON. Errors are problems with a `code`, as for players; see [errors](errors.md). " +
		"Times are epoch milliseconds. Lists end without `next_cursor`.\n\n")
	b.WriteString(tableRow("route", "parameters", "audited", "what it does") + tableRow("---", "---", "---", "---"))
	for _, o := range ops.Operations() {
		if o.Summary == "" {
			t.Errorf("%s %s has no summary", o.Method, o.Path)
		}
		audited := "-"
		if o.IsAudited() {
			audited = "yes"
		}
		b.WriteString(tableRow(codeText(o.Method+" "+o.Path), codeText(strings.Join(o.Query, ", ")), audited, o.Summary))
	}
	return b.String()
}
