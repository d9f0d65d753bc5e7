package ws

import (
	"errors"
	"unicode/utf8"

	"laststand/internal/identity"
	"laststand/internal/protocol"
)

// Recheck closes the sessions here that may not go on by what has changed: 4410
// who is banned, 4401 whose token is revoked, or signed by a key that is
// retired, and who is erased. It looks at each session and waits for nothing. A
// session that says hello meanwhile looks itself.
func (s *Server) Recheck() {
	for _, se := range s.all() {
		if se.greeted.Load() {
			se.stands()
		}
	}
}

// stands says whether the session may go on, and closes it else.
func (se *session) stands() bool {
	return !se.barred(se.server.Identity.Stands(se.claims, se.player))
}

// barred closes the session where an error of the identity is a refusal.
func (se *session) barred(err error) bool {
	switch {
	case errors.Is(err, identity.ErrBanned):
		se.close(protocol.CloseBanned, closeReason(err.Error()))
	case errors.Is(err, identity.ErrToken):
		se.close(protocol.CloseUnauthorized, closeReason(err.Error()))
	default:
		return false
	}
	return true
}

// maxCloseReason is what a close frame has room for, in bytes (RFC 6455, 5.5).
const maxCloseReason = 123

// closeReason cuts a text to what a close frame has room for, between characters.
func closeReason(text string) string {
	if len(text) <= maxCloseReason {
		return text
	}
	text = text[:maxCloseReason]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text
}
