package protocol

import (
	"errors"
	"fmt"
)

// Code is the machine-readable reason of a refusal. It is the same over HTTP and over the
// websocket.
type Code string

// The codes of the wire contract, section 4. The comment of a code is its text in
// docs/reference/errors.md: when the server sends it, and what the client should do.
const (
	// A field is missing, unknown or has a bad value.
	// Client: correct the request before it sends it again.
	CodeBadRequest Code = "bad_request"
	// The type of a websocket message is unknown.
	// Client: use a type of this protocol version.
	CodeUnknownType Code = "unknown_type"
	// The token is missing, malformed, expired, revoked or signed by an unknown key.
	// Client: get a new token and log in again.
	CodeUnauthorized Code = "unauthorized"
	// The token is valid, but its role or player may not do this.
	// Client: not send the request again with this token.
	CodeForbidden Code = "forbidden"
	// The game, player, match, arena or other object does not exist.
	// Client: not send the request again.
	CodeNotFound Code = "not_found"
	// The player or team has no entry on this leaderboard.
	// Client: show that there is no rank yet.
	CodeNotRanked Code = "not_ranked"
	// The player has no seat in this match, or the match is over for too long.
	// Client: leave the match view.
	CodeNotInMatch Code = "not_in_match"
	// The answer arrived after the question closed.
	// Client: show that the answer was late.
	CodeQuestionClosed Code = "question_closed"
	// The question is not open for this player yet or now, as during a lockout of the team.
	// Client: wait for the question, or for retry_after_ms.
	CodeQuestionNotOpen Code = "question_not_open"
	// The player has already given another answer to this question; accepted holds it.
	// Client: show the accepted answer.
	CodeDuplicateAnswer Code = "duplicate_answer"
	// The answer does not fit the kind of the question.
	// Client: correct the answer and send it again.
	CodeInvalidAnswer Code = "invalid_answer"
	// The player is out of this survival match.
	// Client: go on as a spectator.
	CodeEliminated Code = "eliminated"
	// The player already waits for a duel.
	// Client: wait for match.found, or send duel.leave first.
	CodeAlreadyQueued Code = "already_queued"
	// The player already has a seat in another match or arena; match names it.
	// Client: resume that match, or leave it first.
	CodeAlreadyPlaying Code = "already_playing"
	// The arena or team has no free seat.
	// Client: choose another team or join as a spectator.
	CodeArenaFull Code = "arena_full"
	// The match of the arena has begun and takes no more players.
	// Client: join as a spectator.
	CodeArenaStarted Code = "arena_started"
	// The host has locked the arena.
	// Client: ask the host to unlock the arena.
	CodeArenaLocked Code = "arena_locked"
	// The host has banned the player from the arena.
	// Client: not join this arena again.
	CodeKicked Code = "kicked"
	// Another player has this nickname or one that looks like it; suggestions hold free ones.
	// Client: offer the suggestions.
	CodeNicknameTaken Code = "nickname_taken"
	// The nickname breaks a rule; the detail says which.
	// Client: ask the player for another nickname.
	CodeNicknameInvalid Code = "nickname_invalid"
	// The account cannot be linked to this guest, because either of them is already linked or plays now.
	// Client: use the account's own player, or try again after the match.
	CodeAccountTaken Code = "account_taken"
	// The arena is not over, or its result is not settled yet.
	// Client: ask for the report again after the end.
	CodeNotOver Code = "not_over"
	// A limit of the operator was reached; the detail says which.
	// Client: wait for Retry-After or retry_after_ms.
	CodeRateLimited Code = "rate_limited"
	// The body or message is larger than the contract allows.
	// Client: send less at once.
	CodePayloadTooLarge Code = "payload_too_large"
	// The server has too little capacity for this request.
	// Client: wait for Retry-After or retry_after_ms.
	CodeOverloaded Code = "overloaded"
	// A store does not answer, or the leaderboard is not ready.
	// Client: wait for Retry-After or retry_after_ms.
	CodeUnavailable Code = "unavailable"
	// The server failed; its log has the reason.
	// Client: try again later.
	CodeInternal Code = "internal"
)

// Error is a refusal as a client gets it: the data of an `error` reply. Message is for
// people and contains no internal detail. RetryAfterMS is 0 if there is no retry time.
type Error struct {
	Code         Code            `json:"code"`
	Message      string          `json:"message"`
	RetryAfterMS int64           `json:"retry_after_ms,omitempty"`
	Reason       string          `json:"reason,omitempty"`   // why, if the code has several reasons that a player can do something about
	Match        string          `json:"match,omitempty"`    // with already_playing
	Accepted     *AcceptedAnswer `json:"accepted,omitempty"` // with duplicate_answer
}

// Error returns the code and the message.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Errorf returns an Error with a code and a formatted message for people.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// shorten cuts a client's text to 40 characters, for error messages.
func shorten(text string) string {
	const maxRunes = 40
	if runes := []rune(text); len(runes) > maxRunes {
		return string(runes[:maxRunes]) + "…"
	}
	return text
}

// RetryAfter is Errorf with the time in ms after which the client should try again.
func RetryAfter(code Code, ms int64, format string, args ...any) *Error {
	refusal := Errorf(code, format, args...)
	refusal.RetryAfterMS = ms
	return refusal
}

// Because sets the reason of a refusal, and returns the refusal.
func (e *Error) Because(reason string) *Error {
	e.Reason = reason
	return e
}

// Outcome returns the metric label of a request: success if err is nil, the code of a
// refusal, or failed.
func Outcome(err error, success string) string {
	if err == nil {
		return success
	}
	if refusal, ok := errors.AsType[*Error](err); ok {
		return string(refusal.Code)
	}
	return "failed"
}

// Reasons of refusals, besides those of package nickname.
const (
	ReasonTooFewQuestions = "too_few_questions"  // with bad_request: fewer questions match the filter
	ReasonHostsOnly       = "hosts_only"         // with forbidden: players may not create arenas in this game
	ReasonNotSeated       = "not_seated"         // with not_found: the named player has no seat in the arena
	ReasonTooLateForExtra = "too_late_for_extra" // with arena_started: extra time can be set only in the lobby
	ReasonTooManyExtra    = "too_many_extra"     // with bad_request: the arena has its maximum of players with extra time
)

// The close codes of the websocket, section 2 of the contract. After 4000 to 4499 a client
// must not simply reconnect, unless the contract allows it for that code.
const (
	// A frame is larger than 4 KiB.
	// Client: send smaller frames.
	CloseTooLarge = 1009
	// The node stops.
	// Client: reconnect to any node and resume.
	CloseDraining = 1012
	// The node has too little capacity; the reason is {"retry_after_ms":N}.
	// Client: reconnect after retry_after_ms.
	CloseOverloaded = 1013
	// The first frame is no hello, or a frame is no text frame with a JSON object and a type.
	// Client: correct the program; not reconnect by itself.
	CloseProtocol = 4400
	// The token is not valid or has expired.
	// Client: get a new token, then reconnect.
	CloseUnauthorized = 4401
	// The token may not open a websocket.
	// Client: not reconnect with this token.
	CloseForbidden = 4403
	// The server heard nothing for three ping intervals, or no hello within 5 s.
	// Client: reconnect and resume.
	CloseSilent = 4408
	// A newer connection of the same player took over.
	// Client: not reconnect by itself.
	CloseReplaced = 4409
	// The operator banned the player.
	// Client: not reconnect.
	CloseBanned = 4410
	// The client sent too many messages three times within 10 s.
	// Client: reconnect after a minute.
	CloseTooFast = 4429
	// The client read too slowly and its outbox is full.
	// Client: reconnect and resume.
	CloseSlowReader = 4450
)
