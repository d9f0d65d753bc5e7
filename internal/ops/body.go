package ops

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"
	"unicode/utf8"

	"laststand/internal/protocol"
)

// callTimeout limits the duration of a request, except of a verification. It is long
// enough for ten queued changes to get their turn at the database.
const callTimeout = 30 * time.Second

func (r *request) within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(r.Context(), callTimeout)
}

// maxBody bounds the body of a request, in bytes. The result of the largest arena has
// about 3 MB.
const maxBody = 16 << 20

// readBody reads a JSON body.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return nil, &refused{protocol.CodeBadRequest, http.StatusUnsupportedMediaType, "the body must be JSON; set Content-Type: application/json"}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, refuse(protocol.CodePayloadTooLarge, "the body is longer than %d bytes", maxBody)
	}
	if err != nil || !utf8.Valid(body) {
		return nil, badRequest("the body is incomplete or is not UTF-8")
	}
	return body, nil
}

// badCursor refuses a cursor that no page of the list had.
func badCursor(cursor string) error {
	return badRequest("cursor=%q is not from a page of this list; start again without a cursor", cursor)
}

// readObject reads a JSON object into a struct. It refuses unknown fields, and NUL
// characters, which PostgreSQL text cannot hold.
func readObject(w http.ResponseWriter, r *http.Request, into any) error {
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	if bytes.Contains(body, []byte(`\u0000`)) {
		return badRequest("the body has a NUL character; remove it")
	}
	return protocol.Request{Type: "the body", Data: body}.Decode(into)
}
