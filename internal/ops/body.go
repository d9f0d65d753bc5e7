package ops

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"laststand/internal/protocol"
)

// maxBody is the maximum size of a request body, in bytes. The result of the largest
// arena has about 3 MB.
const maxBody = 16 << 20

// readBody reads a JSON body.
func (r *request) readBody() ([]byte, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return nil, &apiError{protocol.CodeBadRequest, http.StatusUnsupportedMediaType, "the body must be JSON; set Content-Type: application/json"}
	}
	body, err := io.ReadAll(http.MaxBytesReader(r.w, r.Body, maxBody))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, newAPIError(protocol.CodePayloadTooLarge, "the body is longer than %d bytes", maxBody)
	}
	if err != nil || !utf8.Valid(body) {
		return nil, badRequest("the body is incomplete or is not UTF-8")
	}
	return body, nil
}

// badCursor returns the error for a cursor that is not from a page of the list.
func badCursor(cursor string) error {
	return badRequest("cursor=%q is not from a page of this list; start again without a cursor", cursor)
}

// readObject decodes a JSON object into target, a pointer to a struct. It refuses
// unknown fields, and NUL characters (\u0000), which PostgreSQL cannot store as text.
func (r *request) readObject(target any) error {
	body, err := r.readBody()
	if err != nil {
		return err
	}
	if hasNUL(body) {
		return badRequest("the body has a NUL character; remove it")
	}
	return protocol.Request{Type: "the body", Data: body}.Decode(target)
}

// hasNUL reports whether a text in JSON has a NUL character. It ignores what follows invalid
// JSON.
func hasNUL(body []byte) bool {
	decoder := json.NewDecoder(bytes.NewReader(body))
	for {
		token, err := decoder.Token()
		if err != nil {
			return false
		}
		if text, ok := token.(string); ok && strings.Contains(text, "\x00") {
			return true
		}
	}
}

// maxReason is the maximum length of a reason, in bytes.
const maxReason = 500

// reasonBody is the body of a request that pauses a queue or disables a webhook.
type reasonBody struct {
	Reason string `json:"reason" need:"true"`
}

// readReason reads the reason of a change, which other operators can see.
func (r *request) readReason() (string, error) {
	var body reasonBody
	if err := r.readObject(&body); err != nil {
		return "", err
	}
	if body.Reason == "" || len(body.Reason) > maxReason {
		return "", badRequest("the reason has %d bytes; use 1 to %d", len(body.Reason), maxReason)
	}
	return body.Reason, nil
}

const (
	defaultLimit = 50
	maxLimit     = 200
)

// limit returns the query parameter limit: the maximum number of items of a page.
func (r *request) limit() (int, error) {
	text := r.query.Get("limit")
	if text == "" {
		return defaultLimit, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxLimit {
		return 0, badRequest("limit=%q is out of range; use 1 to %d", text, maxLimit)
	}
	return n, nil
}

// page is one page of a list. Its JSON has the items under key, and the cursor of the next
// page, which the last page does not have.
type page[T any] struct {
	key   string
	items []T
	next  string
}

func (p page[T]) MarshalJSON() ([]byte, error) {
	items, err := json.Marshal(append([]T{}, p.items...))
	text := fmt.Appendf(nil, "{%q:%s", p.key, items)
	if p.next != "" {
		text = fmt.Appendf(text, ",%q:%q", "next_cursor", p.next)
	}
	return append(text, '}'), err
}
