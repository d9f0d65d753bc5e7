package ws

import (
	"encoding/json"
	"net/http"

	"laststand/internal/protocol"
)

// refuseUpgrade answers a request that cannot become a websocket, in the form
// of the HTTP contract (RFC 9457).
func refuseUpgrade(w http.ResponseWriter, _ *http.Request, status int, reason error) {
	code := protocol.CodeBadRequest
	if status == http.StatusForbidden {
		code = protocol.CodeForbidden
	}
	body, err := json.Marshal(map[string]any{
		"type": "about:blank", "title": http.StatusText(status), "status": status, "detail": reason.Error(), "code": code,
	})
	if err != nil {
		return // of strings and a number it always encodes
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Sec-Websocket-Version", "13")
	w.WriteHeader(status)
	_, _ = w.Write(body) // who does not read it has gone
}
