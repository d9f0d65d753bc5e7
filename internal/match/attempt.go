package match

// Attempt is a judged answer that the store may accept.
type Attempt struct {
	Match     string
	ID        string // unique id of this attempt
	OpensAt   int64  // the opening time that the answer was judged by
	ExtraMS   int64  // how long after the close the answer is accepted
	Record    Record // without the points for a streak
	Streak    int64  // points that each right answer in a row before this one adds, see quiz.Scoring
	Seat      Seat
	Mode      Mode
	LockoutMS int64 // how long a wrong answer locks its team out, ms
	Seen      Seen  // what the node of the answer has seen
}

// Verdict is the store's decision about an attempt.
type Verdict string

// The verdicts of a store.
const (
	VerdictAccepted   Verdict = "accepted"
	VerdictDuplicate  Verdict = "duplicate"  // the player answered before; Outcome.Record is that answer
	VerdictLate       Verdict = "late"       // the question closed before the answer arrived
	VerdictEarly      Verdict = "early"      // the question is not open yet
	VerdictStale      Verdict = "stale"      // judged by another opening time; judge it again
	VerdictEliminated Verdict = "eliminated" // the player is eliminated
	VerdictLockedOut  Verdict = "locked_out" // the team is locked out for RetryMS
	VerdictGone       Verdict = "gone"       // no such match, or the player has no seat in it
)

// Outcome is the store's reply to an attempt. If the answer is accepted, Answered
// is how many players have answered, and Alive is how many may answer. Sealed reports
// that the answer closed its question. RetryMS is the remaining lockout in ms. IsNew reports
// that this call has written the answer, and so Version, for Attempt.Seen.Node.
type Outcome struct {
	Verdict  Verdict
	Record   Record
	Answered int64
	Alive    int64
	Sealed   bool
	RetryMS  int64
	Version  int64
	IsNew    bool
}

// StepAnswer is an answer to a duel. The store accepts it by a step, whose version says that
// the duel has not changed since the answer was judged.
type StepAnswer struct {
	Attempt
	Totals Totals // of the player, with this answer
}

// Seen is what a node knows of a match. After a loss other nodes can raise the version of the
// store past Version, but only writes of Node itself can raise what is stored for Node.
type Seen struct {
	Version int64  // the highest version seen
	Node    string // the node
	Written int64  // the version after its newest acknowledged write; 0 for none
}

// addWrite notes the version after an acknowledged write of the node.
func (s *Seen) addWrite(version int64) {
	s.Version, s.Written = max(s.Version, version), max(s.Written, version)
}
