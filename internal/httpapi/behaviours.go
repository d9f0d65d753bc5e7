package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"

	"laststand/internal/eventq"
	"laststand/internal/limit"
	"laststand/internal/protocol"
)

const (
	// maxBehaviours bounds a call.
	maxBehaviours = 1000
	// maxBehavioursBody bounds its body, in bytes.
	maxBehavioursBody = 4 << 20

	ndjsonType = "application/x-ndjson"
)

// behavioursBody asks for behaviours to be queued. It holds one more than a
// call may have, so that more are noticed, and no memory for the rest of them.
type behavioursBody struct {
	Behaviours [maxBehaviours + 1]json.RawMessage `json:"behaviours" need:"true"`
}

// postBehaviours queues what a game's own service reports of its players. It is
// answered once that is in the queue.
func (a *api) postBehaviours(w http.ResponseWriter, r *request) error {
	claims, err := a.service(r)
	if err != nil {
		return err
	}
	if a.Draining() {
		return refuse(protocol.CodeUnavailable, "this node is about to stop; try again, another one answers")
	}
	bodies, err := readBehaviours(w, r.Request)
	if err != nil {
		return err
	}
	if err := a.Limits.Behaviours.Take(r.Context(), limit.Named(r.game, claims.Subject), len(bodies)); err != nil {
		return err
	}
	posted, err := a.Behaviours.Post(r.Context(), r.game, bodies)
	if err != nil {
		return err
	}
	if posted.Dropped == nil {
		posted.Dropped = map[eventq.Reason]int{}
	}
	return answer(w, http.StatusAccepted, posted)
}

// readBehaviours splits a body into its behaviours, and judges none of them.
func readBehaviours(w http.ResponseWriter, r *http.Request) ([]json.RawMessage, error) {
	var split func([]byte) ([]json.RawMessage, error)
	switch contentType(r) {
	case jsonType:
		split = elements
	case ndjsonType:
		split = lines
	default:
		return nil, wrongType("the body must be JSON or NDJSON, with Content-Type: application/json or application/x-ndjson")
	}
	body, err := readText(w, r, maxBehavioursBody)
	if err != nil {
		return nil, err
	}
	bodies, err := split(body)
	if err != nil {
		return nil, err
	}
	if n := len(bodies); n == 0 || n > maxBehaviours {
		return nil, badRequest("send 1 to %d behaviours a call", maxBehaviours)
	}
	return bodies, nil
}

// elements are those of the list of a JSON body.
func elements(body []byte) ([]json.RawMessage, error) {
	var in behavioursBody
	if err := decodeBody(body, &in); err != nil {
		return nil, err
	}
	n := 0
	for n < len(in.Behaviours) && in.Behaviours[n] != nil {
		n++
	}
	return in.Behaviours[:n], nil
}

// lines are those of an NDJSON body that are not blank, and no more of them
// than it takes to see that they are too many.
func lines(body []byte) ([]json.RawMessage, error) {
	var found []json.RawMessage
	for line := range bytes.Lines(body) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			found = append(found, line)
		}
		if len(found) > maxBehaviours {
			break
		}
	}
	return found, nil
}
