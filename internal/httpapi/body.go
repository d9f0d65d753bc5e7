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

// maxBody bounds a request's body in bytes.
const maxBody = 1 << 20

// readBody reads a JSON object into a struct, as strictly as a frame of the
// websocket: unknown fields, also those that differ by case only, and values
// of a wrong type are refused by name.
func readBody(w http.ResponseWriter, r *http.Request, into any) error {
	return readBodyUpTo(maxBody, w, r, into)
}

func readBodyUpTo(most int64, w http.ResponseWriter, r *http.Request, into any) error {
	if contentType(r) != jsonType {
		return wrongType("the body must be JSON, with Content-Type: application/json")
	}
	body, err := readText(w, r, most)
	if err != nil {
		return err
	}
	return decodeBody(body, into)
}

func decodeBody(body []byte, into any) error {
	return protocol.Request{Type: "the body", Data: body}.Decode(into)
}

const jsonType = "application/json"

// contentType is a body's media type without its parameters, "" where there is
// none that can be read.
func contentType(r *http.Request) string {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

func wrongType(detail string) error {
	return &refused{code: codeBadRequest, status: http.StatusUnsupportedMediaType, detail: detail}
}

// readText reads a body of UTF-8.
func readText(w http.ResponseWriter, r *http.Request, most int64) ([]byte, error) {
	body, err := readInTime(w, r, most)
	switch tooLarge, slow, full := (*http.MaxBytesError)(nil), net.Error(nil), (*protocol.Error)(nil); {
	case errors.As(err, &full): // see turn
		return nil, full
	case errors.As(err, &tooLarge):
		return nil, refuse(protocol.CodePayloadTooLarge, "the body is larger than %d bytes", most)
	case errors.As(err, &slow) && slow.Timeout():
		return nil, &refused{code: codeBadRequest, status: http.StatusRequestTimeout, detail: "the body came too slowly"}
	case err != nil:
		return nil, badRequest("the body ended too soon")
	case !utf8.Valid(body):
		return nil, badRequest("the body is not UTF-8")
	}
	return body, nil
}

// readInTime gives a client as long as its whole request may take. A body that
// was read leaves the connection without that bound, which would end a request
// that waits.
func readInTime(w http.ResponseWriter, r *http.Request, most int64) ([]byte, error) {
	if r.ContentLength > most {
		return nil, &http.MaxBytesError{Limit: most} // as it says itself: nothing of it is read
	}
	connection := http.NewResponseController(w)
	if until, bounded := r.Context().Deadline(); bounded {
		_ = connection.SetReadDeadline(until) // a recorder has none
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	if err == nil {
		_ = connection.SetReadDeadline(time.Time{})
	}
	return body, err
}
