package webhook

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"strings"
	"time"

	"laststand/internal/taskqueue"
)

const (
	// maxListed bounds each list in a message.
	maxListed = 100

	// iso8601 is in UTC.
	iso8601 = "2006-01-02T15:04:05.000Z"

	idPrefix = "evt_"
	idLength = 26 // characters, of 5 bits each
)

// event is something that happened. There is one event per type, game and subject.
type event struct {
	kind, game, subject string
	occurredAt          int64               // epoch ms
	data                func(limit int) any // with at most limit entries in each list
}

// message returns the event in the form that all endpoints get.
func (e *event) message() Message { return Message{ID: e.id(), Body: e.body()} }

// body has the longest lists that fit into a task.
func (e *event) body() (body []byte) {
	for limit := maxListed; limit >= 0; limit -= 10 {
		body = encode(envelope{e.kind, time.UnixMilli(e.occurredAt).UTC().Format(iso8601), e.data(limit)})
		if len(body) <= taskqueue.MaxPayload {
			break
		}
	}
	return body
}

// id returns a hash of the event, so that every node computes the same id, however
// often.
func (e *event) id() string {
	sum := sha256.Sum256([]byte(e.kind + "\x00" + e.game + "\x00" + e.subject))
	return idPrefix + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:idLength])
}

// envelope is the payload that Standard Webhooks 1.0.0 recommends.
type envelope struct {
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"`
	Data      any    `json:"data"`
}

// encode panics if JSON cannot represent the value.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
