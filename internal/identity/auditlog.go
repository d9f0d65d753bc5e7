package identity

import "errors"

// AuditEntry is one line of the audit log: a request by which an operator changes something
// or reads something sensitive. The server writes the entry before it carries out the
// request, and completes it afterwards. So a request that a crash has interrupted has an
// entry too, with status 0.
type AuditEntry struct {
	ID        string `json:"id"`                 // also the X-Request-Id of the response
	StartedAt int64  `json:"at"`                 // when the server received the request, epoch ms by the ledger's clock
	Actor     string `json:"actor"`              // subject of the operator's token
	Action    string `json:"action"`             // HTTP method and route
	Game      string `json:"game,omitempty"`     // "" for a route without a game
	Target    string `json:"target,omitempty"`   // what the request was about, as "match=m_1 player=p_2"
	Status    int    `json:"status,omitempty"`   // HTTP status of the response; 0: not known (yet)
	EndedAt   int64  `json:"ended_at,omitempty"` // epoch ms; 0: not known (yet)
}

// AuditFilter selects entries that match all fields. An empty field matches any entry.
type AuditFilter struct{ Game, Actor string }

// ErrBadAuditCursor reports a cursor that did not come with a page of the audit log.
var ErrBadAuditCursor = errors.New("the cursor is not from a page of the audit log; start again without a cursor")
