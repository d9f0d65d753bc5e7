package httpserver

import (
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"laststand/internal/protocol"
)

// ContentType returns the media type of a body without parameters. It is "" if the header is
// missing or malformed.
func ContentType(r *http.Request) string {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

// ReadJSON is ReadBody for a body that must have the media type of JSON.
func ReadJSON(w http.ResponseWriter, r *http.Request, maxBytes int64) ([]byte, error) {
	if ContentType(r) != jsonType {
		return nil, badRequest(http.StatusUnsupportedMediaType, "send JSON with Content-Type: application/json")
	}
	return ReadBody(w, r, maxBytes)
}

// ReadBody reads a body. It refuses a body that is too large, too slow for the deadline of the
// request's context, cut off, or not UTF-8.
func ReadBody(w http.ResponseWriter, r *http.Request, maxBytes int64) ([]byte, error) {
	body, err := readBeforeDeadline(w, r, maxBytes)
	switch tooLarge, netErr := (*http.MaxBytesError)(nil), net.Error(nil); {
	case errors.As(err, &tooLarge):
		return nil, protocol.Errorf(protocol.CodePayloadTooLarge, "the body is larger than %d bytes; send less per call", maxBytes)
	case errors.As(err, &netErr) && netErr.Timeout():
		return nil, badRequest(http.StatusRequestTimeout, "the body arrived too slowly; retry with a faster connection")
	case err != nil:
		return nil, badRequest(0, "the body ended too soon; send Content-Length bytes")
	case !utf8.Valid(body):
		return nil, badRequest(0, "the body is not UTF-8; encode it as UTF-8")
	}
	return body, nil
}

func badRequest(status int, detail string) error {
	return &StatusError{status, protocol.Errorf(protocol.CodeBadRequest, "%s", detail)}
}

// readBeforeDeadline reads a body, at most until the deadline of the request's context. After
// the body it removes the read deadline from the connection. Otherwise that deadline would end
// a long poll, which waits after its body.
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

// ReadLimit returns the query parameter limit, the maximum number of items of a page, or
// fallback if there is none.
func ReadLimit(query url.Values, fallback, maximum int) (int, error) {
	text := query.Get("limit")
	if text == "" {
		return fallback, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maximum || strconv.Itoa(n) != text {
		return 0, protocol.Errorf(protocol.CodeBadRequest, "limit=%q is not valid; use a whole number from 1 to %d", text, maximum)
	}
	return n, nil
}

// BearerToken reads the token of the header Authorization (RFC 6750). It ignores the case of
// the scheme. It returns false if there is no token, or more than one header.
func BearerToken(r *http.Request) (token string, ok bool) {
	headers := r.Header.Values("Authorization")
	if len(headers) != 1 {
		return "", false
	}
	scheme, token, _ := strings.Cut(headers[0], " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}
