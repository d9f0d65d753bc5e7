package protocol

import "fmt"

// Code is a machine-readable reason of a refusal, the same over HTTP and
// over the websocket.
type Code string

// The codes of the wire contract, section 4.
const (
	CodeBadRequest      Code = "bad_request"
	CodeUnknownType     Code = "unknown_type"
	CodeUnauthorized    Code = "unauthorized"
	CodeForbidden       Code = "forbidden"
	CodeNotFound        Code = "not_found"
	CodeNotRanked       Code = "not_ranked"
	CodeNotInMatch      Code = "not_in_match"
	CodeQuestionClosed  Code = "question_closed"
	CodeQuestionNotOpen Code = "question_not_open"
	CodeDuplicateAnswer Code = "duplicate_answer"
	CodeInvalidAnswer   Code = "invalid_answer"
	CodeEliminated      Code = "eliminated"
	CodeAlreadyQueued   Code = "already_queued"
	CodeAlreadyPlaying  Code = "already_playing"
	CodeArenaFull       Code = "arena_full"
	CodeArenaStarted    Code = "arena_started"
	CodeArenaLocked     Code = "arena_locked"
	CodeKicked          Code = "kicked"
	CodeNicknameTaken   Code = "nickname_taken"
	CodeNicknameInvalid Code = "nickname_invalid"
	CodeAccountTaken    Code = "account_taken"
	CodeRateLimited     Code = "rate_limited"
	CodePayloadTooLarge Code = "payload_too_large"
	CodeOverloaded      Code = "overloaded"
	CodeUnavailable     Code = "unavailable"
	CodeInternal        Code = "internal"
)

// Error is a refusal as a client sees it: the data of an `error` reply. Its
// message is for people and never carries an internal detail.
type Error struct {
	Code         Code            `json:"code"`
	Message      string          `json:"message"`
	RetryAfterMS int64           `json:"retry_after_ms,omitempty"`
	Match        string          `json:"match,omitempty"`    // with already_playing
	Accepted     *AcceptedAnswer `json:"accepted,omitempty"` // with duplicate_answer
}

// Error implements error.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Errorf makes an Error of a code and a message for people.
func Errorf(c Code, format string, args ...any) *Error {
	return &Error{Code: c, Message: fmt.Sprintf(format, args...)}
}

// RetryAfter makes an Error that says when to try again.
func RetryAfter(c Code, ms int64, format string, args ...any) *Error {
	e := Errorf(c, format, args...)
	e.RetryAfterMS = ms
	return e
}

// Close codes of the websocket, section 2 of the contract. 4000 to 4499 mean
// that reconnecting is pointless as it stands, unless the contract says else.
const (
	CloseTooLarge     = 1009
	CloseDraining     = 1012
	CloseOverloaded   = 1013
	CloseProtocol     = 4400
	CloseUnauthorized = 4401
	CloseForbidden    = 4403
	CloseSilent       = 4408
	CloseReplaced     = 4409
	CloseBanned       = 4410
	CloseTooFast      = 4429
	CloseSlowReader   = 4450
)
