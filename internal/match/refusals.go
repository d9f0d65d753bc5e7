package match

import (
	"errors"

	"laststand/internal/protocol"
)

func notInMatchError() error {
	return protocol.Errorf(protocol.CodeNotInMatch, "you have no seat in this match, or the match has expired")
}

func questionNotOpenError(question int) error {
	return protocol.Errorf(protocol.CodeQuestionNotOpen, "question %d is not open yet", question)
}

func eliminatedError() error {
	return protocol.Errorf(protocol.CodeEliminated, "you are eliminated; you may continue to watch")
}

// asNotInMatchError turns ErrNotFound into the refusal for a match that the player
// is not in.
func asNotInMatchError(err error) error {
	if errors.Is(err, ErrNotFound) {
		return notInMatchError()
	}
	return err
}
