package nickname

import "errors"

// reason is a text for players that says why a name or a title is refused.
type reason string

func (r reason) Error() string { return string(r) }

// The values of Reason.
const (
	TooShort     = "too_short"
	TooLong      = "too_long"
	Characters   = "characters" // that it must not have, or that it lacks
	ReservedWord = "reserved_word"
	BlockedWord  = "blocked_word"
)

// Reason returns why an error of this package refuses a name or a title, for programs. It
// returns "" for other errors.
func Reason(err error) string {
	cause, ok := errors.AsType[reason](err)
	if !ok {
		return ""
	}
	switch cause {
	case tooShortReason:
		return TooShort
	case tooLongReason:
		return TooLong
	case staffReason:
		return ReservedWord
	case blockedReason:
		return BlockedWord
	}
	return Characters
}
