package cli

import (
	"cmp"
	"fmt"
	"strings"

	"laststand/internal/eventq"
	"laststand/internal/identity"
	"laststand/internal/ops"
	"laststand/internal/taskqueue"
	"laststand/internal/webhook"
)

// apiCommands has the commands that make one request, by their words. The other commands have a
// method Run.
var apiCommands = map[string]apiCommand{
	"boards disqualify": {"POST", "/corrections", show(func(r apiRequest, corrected ops.Corrected) string {
		return fmt.Sprintf("%s: %d rows of the ledger cancelled", r.values["match"], corrected.Rows)
	})},
	"matches void": {"PUT", "/matches/{match}/voids/{question}", show(func(r apiRequest, voided ops.Voided) string {
		if !voided.IsNew {
			return fmt.Sprintf("%s: question %s was void before", r.values["match"], r.values["question"])
		}
		return fmt.Sprintf("%s: question %s is void", r.values["match"], r.values["question"])
	})},
	"days confirm":      {"PUT", "/days/{day}/confirmation", message("{game}: days up to {day} may start")},
	"tasks list":        {"GET", "/tasks?limit=200", taskTable.list("tasks")},
	"tasks show":        {"GET", "/tasks/{id}", showIndented},
	"task-queues list":  {"GET", "/task-queues?limit=200", taskQueueTable.list("task_queues")},
	"queue peek":        {"GET", "/queue/items", showItems},
	"queue drain":       {"POST", "/queue/drain", report(describeDrained)},
	"queue pause":       {"POST", "/queue/pause", queueTable.one},
	"queue resume":      {"POST", "/queue/resume", queueTable.one},
	"queue set-max-len": {"PATCH", "/queue", queueTable.one},
	"webhooks list":     {"GET", "/webhooks", webhookTable.list("webhooks")},
	"webhooks ping":     {"POST", "/webhooks/{name}/ping", report(describePing)},
	"webhooks enable":   {"POST", "/webhooks/{name}/enable", webhookTable.one},
	"webhooks disable":  {"POST", "/webhooks/{name}/disable", webhookTable.one},
	"audit list":        {"GET", "/audit-log?limit=200", auditTable.list("entries")},
	"keys list":         {"GET", "/keys", keyTable.list("keys")},
	"keys rotate": {"POST", "/keys/rotate", show(func(_ apiRequest, created identity.KeyInfo) string {
		return fmt.Sprintf("%s signs in %v", created.ID, identity.SigningDelay)
	})},
	"keys retire": {"DELETE", "/keys/{id}", message("{id} is retired")},
	"tokens revoke": {"PUT", "/revocations/{target}", show(func(_ apiRequest, revocation identity.Revocation) string {
		return fmt.Sprintf("%s %s is revoked %s", revocation.Kind, revocation.ID, formatExpiry(revocation.EndsAt))
	})},
	"tokens restore":      {"DELETE", "/revocations/{target}", message("the revocation of {token-id}{subject} is removed")},
	"tokens list-revoked": {"GET", "/revocations?limit=200", revocationTable.list("revocations")},
	"bans add": {"PUT", "/bans/{player}", show(func(_ apiRequest, ban ops.Ban) string {
		return fmt.Sprintf("%s is banned %s", ban.Player, formatExpiry(ban.ExpiresAt))
	})},
	"bans remove":            {"DELETE", "/bans/{player}", message("the ban of {player} is removed")},
	"bans list":              {"GET", "/bans?limit=200", banTable.list("bans")},
	"players reset-device":   {"POST", "/players/{player}/device", show(func(_ apiRequest, created ops.NewDevice) string { return created.Device })},
	"players unlink-account": {"DELETE", "/players/{player}/account", show(func(_ apiRequest, unlinked ops.UnlinkedAccount) string { return unlinked.Account + " is unlinked" })},
}

var taskTable = table[taskqueue.Task]{
	header: "ID\tGAME\tTOPIC\tKEY\tSTATE\tTRIES\tCREATED (UTC)\tLAST ERROR",
	row: func(t taskqueue.Task) []any {
		return []any{t.ID, t.Game, t.Topic, t.Key, t.State, t.Tries, formatTime(t.CreatedAt), lastTaskError(t)}
	},
	none: func(r apiRequest) string {
		if state := r.values["state"]; state != "all" {
			return "no tasks in state " + state + "; to list other states, use --state, such as --state all"
		}
		return "no tasks in any state"
	},
}

var taskQueueTable = table[taskqueue.Queue]{header: "TOPIC\tPRIORITY\tORDERING\tLAST\tCLAIMED\tFINISHED\tWAITING\tIN PROGRESS\tBLOCKED BY", row: func(q taskqueue.Queue) []any {
	return []any{q.Topic, q.Priority, cmp.Or(string(q.Ordering), emptyCell), q.Pos, q.Scan, q.Done, q.Pos - q.Scan, q.Scan - q.Done, cmp.Or(q.Head, emptyCell)}
}}

var webhookTable = table[webhook.Status]{header: "GAME\tNAME\tURL\tEVENTS\tPENDING\tDEAD\tDISABLED\tLAST ACCEPTED (THIS NODE)\tLAST ERROR (THIS NODE)", row: func(h webhook.Status) []any {
	return []any{
		h.Game, h.Name, h.URL, strings.Join(h.Events, ","), h.Waiting, h.Dead,
		timeAndText(h.Since, h.Disabled), formatTime(h.AcceptedAt), timeAndText(h.ErrorAt, h.Error),
	}
}}

var auditTable = table[identity.AuditEntry]{header: "TIME (UTC)\tACTOR\tACTION\tGAME\tTARGET\tSTATUS\tID", row: func(e identity.AuditEntry) []any {
	status := "?" // the entry is not complete
	if e.Status != 0 {
		status = fmt.Sprint(e.Status)
	}
	return []any{formatTime(e.StartedAt), e.Actor, e.Action, e.Game, e.Target, status, e.ID}
}}

var keyTable = table[identity.KeyInfo]{header: "ID\tALG\tSIGNS\tSINCE", row: func(key identity.KeyInfo) []any {
	return []any{key.ID, key.Alg, key.Signs, formatTime(key.CreatedAt)}
}}

var banTable = table[ops.Ban]{header: "PLAYER\tSINCE (UTC)\tUNTIL (UTC)\tCREATED BY\tREASON", row: func(b ops.Ban) []any {
	return []any{b.Player, formatTime(b.CreatedAt), formatTime(b.ExpiresAt), b.CreatedBy, b.Reason}
}}

var revocationTable = table[identity.Revocation]{header: "KIND\tID\tSINCE (UTC)\tUNTIL (UTC)\tISSUED BEFORE (UTC)\tCREATED BY\tREASON", row: func(r identity.Revocation) []any {
	return []any{r.Kind, r.ID, formatTime(r.ChangedAt), formatTime(r.EndsAt), formatTime(r.IssuedBefore), r.SetBy, r.Reason}
}}

var queueTable = table[ops.Queue]{header: "GAME\tQUEUED\tIN FLIGHT\tOLDEST\tNEXT BATCH\tSENT\tDROPPED\tPAUSED\tLAST ERROR", row: func(q ops.Queue) []any {
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
		q.Game, length, q.Counts.InFlight, oldest, nextBatchText(q),
		q.Counts.Sent, formatDropped(q.Counts), cmp.Or(q.Paused, emptyCell), lastError,
	}
}}

// describeDrained returns the result of a drain. It is an error if behaviours are left.
func describeDrained(r apiRequest, drained ops.DrainedQueue) (string, error) {
	switch remaining := drained.Counts.Queued + drained.Counts.InFlight; {
	case r.values["discard"] == "true":
		return fmt.Sprintf("%s: %d behaviours discarded", drained.Game, drained.Discarded), nil
	case remaining > 0:
		return "", fmt.Errorf("%s: %d behaviours are left (%d in flight); see `server queue list --game %s` for the last error", drained.Game, remaining, drained.Counts.InFlight, drained.Game)
	}
	return drained.Game + ": the queue is empty", nil
}

// describePing returns the result of a ping. It is an error if the endpoint did not accept it.
func describePing(r apiRequest, pinged webhook.PingResult) (string, error) {
	if pinged.Error != "" {
		return "", fmt.Errorf("%s: after %d ms: %s", r.values["name"], pinged.TookMS, pinged.Error)
	}
	return fmt.Sprintf("%s: accepted with %d after %d ms", r.values["name"], pinged.Status, pinged.TookMS), nil
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
