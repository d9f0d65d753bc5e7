package httpapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"laststand/internal/identity"
	"laststand/internal/protocol"
)

// problem is the body of an error response (RFC 9457). Its type is always
// about:blank; clients distinguish errors by the code.
type problem struct {
	Type        string        `json:"type"`
	Title       string        `json:"title"`
	Status      int           `json:"status"`
	Detail      string        `json:"detail"`
	Code        protocol.Code `json:"code"`
	Suggestions []string      `json:"suggestions,omitempty"` // only with nickname_taken

	RetryAfterS int64 `json:"-"` // value of the header Retry-After, in seconds; 0: defaultRetryAfterS
}

const (
	maxDetail          = 300 // maximum length of a detail, in characters
	defaultRetryAfterS = 2   // in seconds, for statuses 429 and 503 if the error has no retry time
)

func newProblem(e *clientError) problem {
	status := cmp.Or(e.status, statuses[e.code], http.StatusInternalServerError)
	p := problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: e.detail, Code: e.code}
	if runes := []rune(p.Detail); len(runes) > maxDetail {
		p.Detail = string(runes[:maxDetail]) + "…"
	}
	return p
}

// withSuggestions adds the free nicknames of err if it is an identity.TakenError.
func (p problem) withSuggestions(err error) problem {
	if e, ok := errors.AsType[*identity.TakenError](err); ok {
		p.Suggestions = e.Suggestions
	}
	return p
}

// withRetryAfter sets the retry time, given in ms; 0 means defaultRetryAfterS.
func (p problem) withRetryAfter(ms int64) problem {
	p.RetryAfterS = (ms + 999) / 1000
	return p
}

func writeProblem(w http.ResponseWriter, p problem) {
	switch p.Status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", strconv.FormatInt(cmp.Or(p.RetryAfterS, defaultRetryAfterS), 10))
	}
	writeResponse(w, p.Status, "application/problem+json", encodeJSON(p))
}

// writeJSON writes a response with a JSON body. It returns nil, so that a handler
// can return its result.
func writeJSON(w http.ResponseWriter, status int, body any) error {
	writeResponse(w, status, jsonType, encodeJSON(body))
	return nil
}

// writeResponse writes a complete response. It ignores the error if the client
// has disconnected.
func writeResponse(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// encodeJSON encodes a body as JSON. It panics on an error, which would be a
// defect: all bodies are types that can be encoded.
func encodeJSON(body any) []byte {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		panic(err)
	}
	return buffer.Bytes()
}
