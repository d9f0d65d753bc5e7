package match

import "fmt"

// ErrUnreadable reports that a match exists but this node cannot read it: its
// plan or state is corrupt or has another form. Players of such a match count
// as not playing, so it wraps ErrNotFound.
var ErrUnreadable = fmt.Errorf("%w: this node cannot read it", ErrNotFound)

// UnreadableError is an ErrUnreadable with its reason.
type UnreadableError struct {
	Reason string // one of the reasons below
	Err    error
}

// The reasons of laststand_match_decode_failures_total.
const (
	ReasonOlderForm = "older_form"
	ReasonNewerForm = "newer_form"
	ReasonCorrupt   = "corrupt"
)

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("%v (%s): %v", ErrUnreadable, e.Reason, e.Err)
}

// Unwrap returns ErrUnreadable and the cause.
func (e *UnreadableError) Unwrap() []error { return []error{ErrUnreadable, e.Err} }
