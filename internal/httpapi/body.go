package httpapi

import (
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"time"
	"unicode/utf8"

	"laststand/internal/protocol"
)

// maxBody is the default maximum size of a request body in bytes.
const maxBody = 1 << 20

// readBody decodes a JSON object into target, a pointer to a struct. Like the
// websocket it refuses unknown fields, fields whose names differ only in upper
// and lower case, and values of a wrong type. The error names the field.
func readBody(w http.ResponseWriter, r *http.Request, target any) error {
	return readBodyLimited(maxBody, w, r, target)
}

// readBodyLimited is readBody with a maximum size in bytes.
func readBodyLimited(maxBytes int64, w http.ResponseWriter, r *http.Request, target any) error {
	if contentType(r) != jsonType {
		return unsupportedType("send JSON with Content-Type: application/json")
	}
	body, err := readUTF8(w, r, maxBytes)
	if err != nil {
		return err
	}
	return decodeBody(body, target)
}

func decodeBody(body []byte, target any) error {
	return protocol.Request{Type: "the body", Data: body}.Decode(target)
}

const jsonType = "application/json"

// contentType returns the media type of a body without parameters. It is "" if
// the header is missing or malformed.
func contentType(r *http.Request) string {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

func unsupportedType(detail string) error {
	return &clientError{code: protocol.CodeBadRequest, status: http.StatusUnsupportedMediaType, detail: detail}
}

// readUTF8 reads a body and refuses text that is not UTF-8.
func readUTF8(w http.ResponseWriter, r *http.Request, maxBytes int64) ([]byte, error) {
	body, err := readBeforeDeadline(w, r, maxBytes)
	switch tooLarge, netErr, refusal := (*http.MaxBytesError)(nil), net.Error(nil), (*protocol.Error)(nil); {
	case errors.As(err, &refusal): // see concurrencySlot
		return nil, refusal
	case errors.As(err, &tooLarge):
		return nil, clientErrorf(protocol.CodePayloadTooLarge, "the body is larger than %d bytes; send less per call", maxBytes)
	case errors.As(err, &netErr) && netErr.Timeout():
		return nil, &clientError{code: protocol.CodeBadRequest, status: http.StatusRequestTimeout, detail: "the body arrived too slowly; retry with a faster connection"}
	case err != nil:
		return nil, badRequest("the body ended too soon; send Content-Length bytes")
	case !utf8.Valid(body):
		return nil, badRequest("the body is not UTF-8; encode it as UTF-8")
	}
	return body, nil
}

// readBeforeDeadline reads a body, at most until the deadline of the request's
// context. After the body it removes the read deadline from the connection.
// Otherwise that deadline would end a long poll, which waits after its body.
func readBeforeDeadline(w http.ResponseWriter, r *http.Request, maxBytes int64) ([]byte, error) {
	if r.ContentLength > maxBytes {
		return nil, &http.MaxBytesError{Limit: maxBytes} // Content-Length is too large already: do not read the body
	}
	connection := http.NewResponseController(w)
	if deadline, hasDeadline := r.Context().Deadline(); hasDeadline {
		_ = connection.SetReadDeadline(deadline) // an error means a test recorder, which has no deadlines
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBytes))
	if err == nil {
		_ = connection.SetReadDeadline(time.Time{})
	}
	return body, err
}
