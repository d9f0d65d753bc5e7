package match

import (
	"context"

	"laststand/internal/protocol"
)

// judge judges answers, stores them and tells the players.
type judge struct{ *places }

// Answer judges an answer and submits it. It returns the reply to the player,
// or a *protocol.Error if the answer is refused. It may push effects of the answer
// before it returns: the player's session must hold them back until the reply. It also
// returns a function for the other effects. The caller must call it after it has
// sent the reply. The function is never nil.
func (j *judge) Answer(ctx context.Context, submission Submission) (protocol.Answered, func(), error) {
	local, seat, err := j.findMatchAndSeat(ctx, submission)
	if err != nil {
		return j.countRefusal(err)
	}
	answer := validAnswer{seat: seat, question: *submission.Answer.Question}
	if answer.normal, err = local.plan.Questions[answer.question].Normalize(submission.Answer.Given); err != nil {
		return j.countRefusal(j.refuseInvalid(ctx, local, submission, err))
	}
	answer.given = submission.Answer.Encode()
	outcome, err := j.commitAnswer(ctx, local, submission, answer)
	if err != nil {
		return j.countRefusal(err)
	}
	return j.replyToOutcome(local, outcome, answer)
}

// findMatchAndSeat returns the match of an answer and the player's seat. It checks that
// the question exists.
func (j *judge) findMatchAndSeat(ctx context.Context, submission Submission) (*localMatch, Seat, error) {
	local, err := j.loadMatch(ctx, submission.Answer.Match)
	if err != nil {
		return nil, Seat{}, asNotInMatchError(err)
	}
	member, err := j.member(ctx, local, submission.Player)
	if err != nil {
		return nil, Seat{}, asNotInMatchError(err)
	}
	if member.Role != PlayerRole {
		return nil, Seat{}, notInMatchError()
	}
	if submission.Answer.Question == nil {
		return nil, Seat{}, protocol.Errorf(protocol.CodeBadRequest, "question is missing; send the number of the question, from 0")
	}
	if question := *submission.Answer.Question; question < 0 || question >= len(local.plan.Questions) {
		return nil, Seat{}, protocol.Errorf(protocol.CodeBadRequest, "question %d does not exist; this match has questions 0 to %d",
			question, len(local.plan.Questions)-1)
	}
	return local, member.Seat, nil
}

// refuseInvalid returns the refusal of an answer with an invalid form. Two
// refusals come first: the question is not open yet, and the player is
// eliminated.
func (j *judge) refuseInvalid(ctx context.Context, local *localMatch, submission Submission, cause error) error {
	view, err := j.refresh(ctx, local, submission.Player)
	switch {
	case err != nil:
		return err
	case *submission.Answer.Question > view.Question:
		return questionNotOpenError(*submission.Answer.Question)
	case local.plan.Mode == Survival && view.isEliminated(view.Totals[submission.Player]):
		return eliminatedError()
	}
	return protocol.Errorf(protocol.CodeInvalidAnswer, "%v", cause)
}
