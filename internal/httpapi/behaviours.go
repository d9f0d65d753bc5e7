package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"

	"laststand/internal/eventq"
	"laststand/internal/httpserver"
	"laststand/internal/overload"
	"laststand/internal/protocol"
)

const (
	// maxBehaviours is the maximum of behaviours per call.
	maxBehaviours = 1000
	// maxBehavioursBody is the largest body in bytes.
	maxBehavioursBody = 4 << 20

	ndjsonType = "application/x-ndjson"
)

// behavioursBody is the JSON form of a call. Its array has one element more than
// a call may use. So the decoder drops further elements, and the handler still
// detects too many behaviours.
type behavioursBody struct {
	Behaviours [maxBehaviours + 1]json.RawMessage `json:"behaviours" need:"true"`
}

// postBehaviours queues the behaviours that a game service reports. It responds
// after they are in the queue.
func (h serviceRoutes) postBehaviours(r *request) (any, error) {
	bodies, err := r.readBehaviours()
	if err != nil {
		return nil, err
	}
	if n := len(bodies); n == 0 || n > maxBehaviours {
		return nil, badRequest("send 1 to %d behaviours per call", maxBehaviours)
	}
	if err := h.Limits.Behaviours.Take(r.Context(), overload.ObjectKey(r.game, r.claims.Subject), len(bodies)); err != nil {
		return nil, err
	}
	posted, err := h.Behaviours.Post(r.Context(), r.game, bodies)
	if posted.Dropped == nil {
		posted.Dropped = map[eventq.Reason]int64{}
	}
	return httpserver.Response{Status: http.StatusAccepted, Body: posted}, err
}

// readBehaviours splits a body into behaviours. It does not validate them.
func (r *request) readBehaviours() ([]json.RawMessage, error) {
	contentType := httpserver.ContentType(r.Request)
	if contentType != "application/json" && contentType != ndjsonType {
		return nil, &httpserver.StatusError{
			Status:  http.StatusUnsupportedMediaType,
			Refusal: protocol.Errorf(protocol.CodeBadRequest, "send JSON or NDJSON with Content-Type: application/json or application/x-ndjson"),
		}
	}
	body, err := httpserver.ReadBody(r.w, r.Request, maxBehavioursBody)
	if err != nil {
		return nil, err
	}
	if contentType == ndjsonType {
		return splitLines(body), nil
	}
	var decoded behavioursBody
	err = decodeBody(body, &decoded)
	return presentElements(decoded.Behaviours[:]), err
}

// presentElements returns the elements that the client has sent, from an array that the
// decoder has not filled.
func presentElements(array []json.RawMessage) []json.RawMessage {
	if n := slices.IndexFunc(array, func(element json.RawMessage) bool { return element == nil }); n >= 0 {
		return array[:n]
	}
	return array
}

// splitLines returns the lines of an NDJSON body that are not blank. It stops
// one line after maxBehaviours.
func splitLines(body []byte) (lines []json.RawMessage) {
	for line := range bytes.Lines(body) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			lines = append(lines, line)
		}
		if len(lines) > maxBehaviours {
			break
		}
	}
	return lines
}
