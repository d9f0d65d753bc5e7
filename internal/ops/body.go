package ops

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"laststand/internal/protocol"
)

// callTimeout is the time limit of a request, except a verification of leaderboards. In
// this time the database can process ten queued changes.
const callTimeout = 30 * time.Second

// callContext returns the context of a request with callTimeout.
func (r *request) callContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(r.Context(), callTimeout)
}

// maxBody is the maximum size of a request body, in bytes. The result of the largest
// arena has about 3 MB.
const maxBody = 16 << 20

// readBody reads a JSON body.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return nil, &apiError{protocol.CodeBadRequest, http.StatusUnsupportedMediaType, "the body must be JSON; set Content-Type: application/json"}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
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
func readObject(w http.ResponseWriter, r *http.Request, target any) error {
	body, err := readBody(w, r)
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
