package ws

import (
	"encoding/json"
	"net/http"

	"laststand/internal/protocol"
)

// refuseUpgrade replies to a request that cannot become a websocket, with a problem
// document (RFC 9457).
func refuseUpgrade(w http.ResponseWriter, _ *http.Request, status int, reason error) {
	code := protocol.CodeBadRequest
	if status == http.StatusForbidden {
		code = protocol.CodeForbidden
	}
	body, err := json.Marshal(map[string]any{
		"type": "about:blank", "title": http.StatusText(status), "status": status, "detail": reason.Error(), "code": code,
	})
	if err != nil {
		return // cannot happen: strings and a number always encode
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Sec-Websocket-Version", "13")
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error means that the client has disconnected
}
