package ws

import (
	"errors"
	"unicode/utf8"

	"laststand/internal/identity"
	"laststand/internal/protocol"
)

// Recheck closes the sessions whose player or token is no longer allowed. The close code
// is 4410 for a banned player. It is 4401 for a revoked token, a retired key and an
// erased player. Recheck does not block. It skips sessions without a hello: the server
// checks these before it sends the welcome.
func (s *Server) Recheck() {
	for _, se := range s.openSessions() {
		if se.greeted.Load() {
			se.closeUnlessAllowed()
		}
	}
}

// closeUnlessAllowed closes the session if its player or token is no longer allowed. It
// returns true if the session is still allowed.
func (se *session) closeUnlessAllowed() bool {
	return !se.closeRevoked(se.server.Identity.CheckActive(se.claims, se.player))
}

// closeRevoked closes the session and returns true if err is a ban or an invalid token.
func (se *session) closeRevoked(err error) bool {
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

// maxCloseReason is the maximum size of the reason in a close frame, in bytes (RFC 6455,
// 5.5).
const maxCloseReason = 123

// closeReason cuts a text to maxCloseReason bytes, between characters.
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
