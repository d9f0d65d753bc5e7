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

// problem is the body of an error answer (RFC 9457). Its type is always
// about:blank; clients tell errors apart by the code.
type problem struct {
	Type        string        `json:"type"`
	Title       string        `json:"title"`
	Status      int           `json:"status"`
	Detail      string        `json:"detail"`
	Code        protocol.Code `json:"code"`
	Suggestions []string      `json:"suggestions,omitempty"` // only with nickname_taken

	RetryAfterS int64 `json:"-"` // when to try again, in seconds; 0: defaultRetryAfterS
}

const (
	maxDetail          = 300 // the longest detail in characters
	defaultRetryAfterS = 2   // seconds; for 429 and 503 without a time of their own
)

func problemOf(e *clientError) problem {
	status := cmp.Or(e.status, statuses[e.code], http.StatusInternalServerError)
	p := problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: e.detail, Code: e.code}
	if r := []rune(p.Detail); len(r) > maxDetail {
		p.Detail = string(r[:maxDetail]) + "…"
	}
	return p
}

// withSuggestions adds the free nicknames that an identity.TakenError suggests.
func (p problem) withSuggestions(err error) problem {
	if e, ok := errors.AsType[*identity.TakenError](err); ok {
		p.Suggestions = e.Suggestions
	}
	return p
}

// withRetryAfter sets the time until the retry in ms; 0 means the default.
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
	write(w, p.Status, "application/problem+json", encode(p))
}

// answer writes a body as JSON.
func answer(w http.ResponseWriter, status int, body any) error {
	write(w, status, jsonType, encode(body))
	return nil
}

// write sends a complete answer. It ignores a client that is gone.
func write(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// encode encodes a body as JSON. All bodies are types of this package, so an
// error is a defect and encode panics.
func encode(body any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(body); err != nil {
		panic(err)
	}
	return b.Bytes()
}
