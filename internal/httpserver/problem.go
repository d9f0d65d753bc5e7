package httpserver

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"laststand/internal/protocol"
)

// Problem is the body of an error response (RFC 9457). Its type is always about:blank;
// clients distinguish errors by the code.
type Problem struct {
	Type        string        `json:"type"`
	Title       string        `json:"title"`
	Status      int           `json:"status"`
	Detail      string        `json:"detail"`
	Code        protocol.Code `json:"code"`
	Reason      string        `json:"reason,omitempty"`      // why, if the code has several reasons that a player can do something about
	Suggestions []string      `json:"suggestions,omitempty"` // only with nickname_taken

	RetryAfterMS int64 `json:"-"` // for the header Retry-After; 0: defaultRetryAfterMS
}

// defaultRetryAfterMS is the retry time of statuses 429 and 503 if the error has none.
const defaultRetryAfterMS = 2000

// statuses maps each code to its HTTP status.
var statuses = map[protocol.Code]int{
	protocol.CodeBadRequest:      http.StatusBadRequest,
	protocol.CodeUnauthorized:    http.StatusUnauthorized,
	protocol.CodeForbidden:       http.StatusForbidden,
	protocol.CodeNotFound:        http.StatusNotFound,
	protocol.CodeNotRanked:       http.StatusNotFound,
	protocol.CodeNicknameTaken:   http.StatusConflict,
	protocol.CodeAccountTaken:    http.StatusConflict,
	protocol.CodeNotOver:         http.StatusConflict,
	protocol.CodeNicknameInvalid: http.StatusUnprocessableEntity,
	protocol.CodePayloadTooLarge: http.StatusRequestEntityTooLarge,
	protocol.CodeRateLimited:     http.StatusTooManyRequests,
	protocol.CodeOverloaded:      http.StatusServiceUnavailable,
	protocol.CodeUnavailable:     http.StatusServiceUnavailable,
	protocol.CodeInternal:        http.StatusInternalServerError,
}

// Statuses returns the HTTP status of each code. A code that is missing occurs only on
// websockets.
func Statuses() map[protocol.Code]int { return maps.Clone(statuses) }

// StatusError is a refusal with another HTTP status than that of its code.
type StatusError struct {
	Status  int
	Refusal *protocol.Error
}

func (e *StatusError) Error() string { return e.Refusal.Error() }

func (e *StatusError) Unwrap() error { return e.Refusal }

// ErrorTable maps errors to refusals. The first row that has a matching error counts.
type ErrorTable []struct {
	Code   protocol.Code
	Status int    // 0: the status of the code
	Detail string // text for the client; "": the text of the error
	Errors []error
}

// Problem returns the problem for an error that is a *protocol.Error or is in the table.
// Otherwise isKnown is false.
func (t ErrorTable) Problem(err error) (p Problem, isKnown bool) {
	if e, ok := errors.AsType[*StatusError](err); ok {
		return newProblem(e.Refusal, e.Status), true
	}
	if e, ok := errors.AsType[*protocol.Error](err); ok {
		return NewProblem(e), true
	}
	for _, row := range t {
		if slices.ContainsFunc(row.Errors, func(known error) bool { return errors.Is(err, known) }) {
			return newProblem(&protocol.Error{Code: row.Code, Message: cmp.Or(row.Detail, err.Error())}, row.Status), true
		}
	}
	return Problem{}, false
}

// NewProblem returns the problem for a refusal.
func NewProblem(refusal *protocol.Error) Problem { return newProblem(refusal, 0) }

func newProblem(refusal *protocol.Error, status int) Problem {
	status = cmp.Or(status, statuses[refusal.Code], http.StatusInternalServerError)
	return Problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status,
		Detail: refusal.Message, Code: refusal.Code, Reason: refusal.Reason, RetryAfterMS: refusal.RetryAfterMS,
	}
}

// WriteProblem writes a problem as the response.
func WriteProblem(w http.ResponseWriter, p Problem) {
	switch p.Status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", strconv.FormatInt((cmp.Or(p.RetryAfterMS, defaultRetryAfterMS)+999)/1000, 10))
	}
	write(w, p.Status, Raw{"application/problem+json", append(protocol.EncodeJSON(p), '\n')})
}
