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

// problem is an error's body (RFC 9457). Its type is about:blank: the code
// tells kinds apart.
type problem struct {
	Type        string        `json:"type"`
	Title       string        `json:"title"`
	Status      int           `json:"status"`
	Detail      string        `json:"detail"`
	Code        protocol.Code `json:"code"`
	Suggestions []string      `json:"suggestions,omitempty"` // with nickname_taken

	Again int64 `json:"-"` // when to try again, in seconds; 0: retryAfter
}

const (
	maxDetail  = 300 // characters of a detail
	retryAfter = 2   // seconds, told with 429 and 503 that say nothing else
)

func problemOf(e *refused) problem {
	status := cmp.Or(e.status, statuses[e.code], http.StatusInternalServerError)
	p := problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: e.detail, Code: e.code}
	if r := []rune(p.Detail); len(r) > maxDetail {
		p.Detail = string(r[:maxDetail]) + "…"
	}
	return p
}

// with adds what the game's error carries for the client.
func (p problem) with(err error) problem {
	if e, ok := errors.AsType[*identity.TakenError](err); ok {
		p.Suggestions = e.Suggestions
	}
	return p
}

// after has a client try again in so many milliseconds, 0 for as usual.
func (p problem) after(ms int64) problem {
	p.Again = (ms + 999) / 1000
	return p
}

func writeProblem(w http.ResponseWriter, p problem) {
	switch p.Status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", strconv.FormatInt(cmp.Or(p.Again, retryAfter), 10))
	}
	write(w, p.Status, "application/problem+json", encode(p))
}

// answer writes a body as JSON.
func answer(w http.ResponseWriter, status int, body any) error {
	write(w, status, jsonType, encode(body))
	return nil
}

// write sends a whole body. A client that went away is no error of ours.
func write(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// encode encodes a body of this package, which always succeeds: it panics on
// what JSON does not have.
func encode(body any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(body); err != nil {
		panic(err)
	}
	return b.Bytes()
}
