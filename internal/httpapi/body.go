package httpapi

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"unicode/utf8"

	"laststand/internal/protocol"
)

// maxBody bounds a request's body in bytes.
const maxBody = 1 << 20

// readBody reads a JSON object into a struct, as strictly as a frame of the
// websocket: unknown fields, also those that differ by case only, and values
// of a wrong type are refused by name.
func readBody(w http.ResponseWriter, r *http.Request, into any) error {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return &refused{code: codeBadRequest, status: http.StatusUnsupportedMediaType,
			detail: "the body must be JSON, with Content-Type: application/json"}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return refuse(protocol.CodePayloadTooLarge, "the body is larger than %d bytes", maxBody)
	}
	if err != nil {
		return badRequest("the body ended too soon")
	}
	if !utf8.Valid(body) {
		return badRequest("the body is not UTF-8")
	}
	return protocol.Request{Type: "the body", Data: body}.Decode(into)
}
