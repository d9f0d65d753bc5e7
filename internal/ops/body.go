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

// callWithin bounds a request but for a verification, its stores' answers
// included: ten commits may have to wait for their turn.
const callWithin = 30 * time.Second

func (r *request) within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(r.Context(), callWithin)
}

// maxBody bounds a request's body in bytes: the result of the largest arena
// takes some 3 MB.
const maxBody = 16 << 20

// readBody reads a JSON body.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return nil, &refused{protocol.CodeBadRequest, http.StatusUnsupportedMediaType, "the body must be JSON, with Content-Type: application/json"}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, refuse(protocol.CodePayloadTooLarge, "the body is larger than %d bytes", maxBody)
	}
	if err != nil || !utf8.Valid(body) {
		return nil, badRequest("the body ended too soon or is not UTF-8")
	}
	return body, nil
}

// readObject reads a JSON object into a struct; unknown fields are refused, and a
// character 0, which PostgreSQL keeps in no text.
func readObject(w http.ResponseWriter, r *http.Request, into any) error {
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	if bytes.Contains(body, []byte(`\u0000`)) {
		return badRequest("the body has a character 0")
	}
	return protocol.Request{Type: "the body", Data: body}.Decode(into)
}
