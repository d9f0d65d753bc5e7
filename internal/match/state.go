package match

import (
	"encoding/json"

	"laststand/internal/protocol"
)

// Phase is the stage of a match.
//
//	lobby → starting → countdown → open → sealed → revealed → open … | over → settled
//
// A duel begins with countdown. A question is sealed only if it ends early: by the first
// right answer of a buzzer match, by the host, or by a forfeit. Otherwise it goes from open
// to revealed directly.
type Phase string

// The phases. Players see starting as lobby, but it accepts no more seats. They
// see sealed as open, but it accepts no more answers.
const (
	PhaseLobby     Phase = "lobby"
	PhaseStarting  Phase = "starting"
	PhaseCountdown Phase = "countdown"
	PhaseOpen      Phase = "open"
	PhaseSealed    Phase = "sealed"
	PhaseRevealed  Phase = "revealed"
	PhaseOver      Phase = "over"
	PhaseSettled   Phase = "settled"
)

// hasEnded reports whether the match is over.
func (p Phase) hasEnded() bool { return p == PhaseOver || p == PhaseSettled }

// State is the part of a match that changes. Question counts from 0 and is -1
// before the first question opens. Times are cluster time in ms.
//
// Steps write the fields of the first group. Of these, a first right answer writes the phase
// and its reason, places write Alive and Extra, and a host can move DueAt. Other writes of the
// store move the fields of the second group. A step leaves those alone, with two exceptions: an
// accepted answer raises Answered and Right, and opening a question sets both to 0.
type State struct {
	Phase       Phase
	Question    int
	StartsAt    int64 // when question 0 opens
	OpensAt     int64 // when the question opened
	ClosesAt    int64
	DueAt       int64  // when the next step is due; 0 for never
	StartedAt   int64  // when question 0 opened
	CloseReason string // why the question closed: all_answered, timeout, first_correct, host or forfeit
	EndReason   Reason // if set, the next step ends the match for this reason
	Leaver      string // the player who forfeited the duel
	HostPaced   bool   // true: the host opens each question
	Extended    bool   // true: the question was already extended after an outage
	Alive       int64  // how many players may answer: all with a seat; in survival only those still in
	LastDecided int    // survival: the last question that somebody survived; -1 before the first
	Voids       []int  // survival: questions that nobody survived
	// Extra are the players of an arena with extra time, at most MaxExtraSeats. The host
	// sets them in the lobby. A player who leaves is removed by the store, one who is
	// eliminated by a step.
	Extra []ExtraTime

	Answered    int64 // accepted answers to the question; in survival without those of players who left
	Right       int64 // right answers among them
	Players     int64 // seats
	LeftSeats   int64 // seats whose players left during the match
	EndedPlaces int64 // ended places of players and watchers
	Locked      bool  // true: the lobby accepts no more players
	Counted     bool  // true: the ledger has the result, and it counts for leaderboards
	// Ratings are the final ratings of a rated match by player. They are set
	// together with Counted.
	Ratings map[string]int
	First   *First // buzzer: the first right answer to the question
	Seq     int64  // number of the last push
	Version int64  // every accepted write raises it
}

// readsUntil is from when on the question accepts answers.
func (s State) readsUntil(plan *Plan) int64 { return s.OpensAt + plan.ReadingMS }

// isLate reports whether an answer to the open question came after its end.
func (s State) isLate(answer Record) bool {
	return s.Phase == PhaseOpen && s.Question == answer.Question && answer.ArrivedAt > s.ClosesAt
}

// isDue reports whether the next step is due.
func (s State) isDue(now int64) bool { return !s.Phase.hasEnded() && s.DueAt != 0 && now >= s.DueAt }

// isAbandoned reports whether the match ended because the store lost data of it.
func (s State) isAbandoned() bool { return s.Phase.hasEnded() && s.EndReason == ReasonAbandoned }

// hasPushesAfter reports whether a known state has pushes that a read of the running match does
// not have.
func (s State) hasPushesAfter(read State) bool {
	return read.Seq < s.Seq && !read.Phase.hasEnded() && !s.isAbandoned()
}

// isClosed reports whether a question is not open any more.
func (s State) isClosed(question int) bool {
	return s.Question > question || s.Question == question && s.Phase != PhaseOpen
}

// hasAllAnswers reports whether everyone who may answer the open question has
// answered.
func (s State) hasAllAnswers() bool { return s.Phase == PhaseOpen && s.Answered >= s.Alive }

// Record is an accepted answer, what it was judged by, and its points.
type Record struct {
	Player     string          `json:"player"`
	Question   int             `json:"question"`
	Given      json.RawMessage `json:"given"`  // as sent
	Normalized string          `json:"normal"` // as normalised
	Correct    bool            `json:"correct"`
	ArrivedAt  int64           `json:"at"` // when the frame arrived, cluster time
	ElapsedMS  int64           `json:"elapsed_ms"`
	Points     int64           `json:"points"`
	SavedMS    int64           `json:"saved_ms"`       // limit minus elapsed for a right answer, else 0
	Node       string          `json:"node,omitempty"` // the node that received it
	First      bool            `json:"first,omitempty"`
}

// Totals are the sums of a player's records. LastCorrect is 1 plus the index of
// the last question answered right; LastAnswered is the same for the last
// question answered. 0 means none. Streak is how many answers in a row were right up to
// LastCorrect.
type Totals struct {
	Score, Correct, Answered, SavedMS int64
	LastCorrect, LastAnswered         int
	Streak                            int64
	HasLeft                           bool // true: the player left the match
}

// isRetracted reports whether a record no longer counts because its player left
// before the reveal.
func (t Totals) isRetracted(record Record) bool {
	return t.HasLeft && t.LastAnswered <= record.Question
}

// withRecord returns the totals with one more record.
func (t Totals) withRecord(record Record) Totals {
	t.Score += record.Points
	t.Answered++
	t.SavedMS += record.SavedMS
	t.LastAnswered = record.Question + 1
	if record.Correct {
		if t.LastCorrect != record.Question {
			t.Streak = 0
		}
		t.Streak++
		t.Correct++
		t.LastCorrect = record.Question + 1
	}
	return t
}

// withoutRecord returns the totals without one record.
func (t Totals) withoutRecord(record Record) Totals {
	t.Score -= record.Points
	t.Answered--
	t.SavedMS -= record.SavedMS
	if record.Correct {
		t.Correct--
	}
	return t
}

// TeamTotals are the number of players and the points of a team. In a buzzer
// match every first answer is one point.
type TeamTotals struct{ Players, Score int64 }

// View is a match as read in one atomic operation: its state, and the current
// records and totals of the listed and requested players.
type View struct {
	State
	Plan    *Plan             // nil unless WantPlan
	Seats   []Seat            // an arena's listed seats, best first: all up to FullListPlayers, else the first ShortListPlayers
	Records map[string]Record // records of the current question by player
	Totals  map[string]Totals
	Ranks   map[string]int64 // empty unless WantRanks: 1 + the number of better players, including unrevealed records
	Gaps    map[string]int64 // as Ranks, in a race: points up to the next higher score; absent for the highest
	Counts  []ValueCount     // set if WantListed: the most frequent answers to the question, at most 16
	Teams   map[string]TeamTotals
	Nodes   []string // nodes that hold sessions of the match
	Frames  [][]byte // pushes after ReadQuery.AfterSeq
	Scores  []byte   // the scores of the last reveal in a match of over FullListPlayers players; nil before
	Firsts  []First  // set if WantListed: the first right answers to all questions so far
}

// ValueCount is how many answers to a question have a value: a canonical form of package
// quiz, or for a question of kind multiple the index of one choice.
type ValueCount struct {
	Value string
	N     int64
}

// ReadQuery says what to read of a match. AfterSeq is the number of the last push
// that the caller has; -1 asks for no pushes.
type ReadQuery struct {
	Match      string
	WantPlan   bool
	Players    []string // in addition to the listed ones
	WantRanks  bool     // ranks of Players
	WantListed bool     // the listed seats of an arena, and its teams
	AfterSeq   int64
	Node       string // added to the nodes that hold sessions; "" for none
	Seen       Seen   // what the caller has seen
}

// Step is one step of a match: a compare-and-set on phase and question, and on
// the version if Version is set.
type Step struct {
	Match    string
	ID       string      // unique id of this attempt
	From     State       // the known state; the match must have its phase and question
	Version  int64       // the version that the match must have; 0 accepts any
	Seen     Seen        // what the node that takes the step has seen
	NewState State       // the new state; a step writes what differs from From in the first group
	Large    bool        // over FullListPlayers players wait for this step
	Answer   *StepAnswer // of a duel, accepted together with the step; nil: none
	Mode     Mode        // buzzer: opening a question allows one first right answer, closing it ends that
	Pushes   []protocol.NumberedPush
	Scores   []byte  // stored as View.Scores; nil leaves them unchanged
	Result   *Result // set on the step to Over if the match leaves a result
	TTLMS    int64   // new time to live of the match, ms from now; 0 leaves it unchanged
}

// OpensQuestion reports whether a step opens a question. An extension does not.
func (s Step) OpensQuestion() bool {
	return s.NewState.Phase == PhaseOpen && (s.From.Phase != PhaseOpen || s.NewState.Question != s.From.Question)
}

// ClosesQuestion reports whether a step closes the open question.
func (s Step) ClosesQuestion() bool {
	return s.From.Phase == PhaseOpen && (s.NewState.Phase != PhaseOpen || s.NewState.Question != s.From.Question)
}

// StepResult reports whether the step was applied, and the number of its first
// push.
type StepResult struct {
	Applied  bool
	FirstSeq int64
	Version  int64
	Nodes    []string
}

// isLastQuestion reports whether no question follows.
func (v View) isLastQuestion(plan *Plan) bool {
	return v.Question+1 >= len(plan.Questions) || plan.Mode == Survival && v.Alive <= 1
}

// isUnrevealed reports whether the current question is not revealed. After a
// forfeit during an open question it is never revealed.
func (s State) isUnrevealed() bool {
	return s.Phase == PhaseOpen || s.Phase == PhaseSealed || s.CloseReason == string(ReasonForfeit)
}

// RevealedQuestions is the number of questions that were closed and revealed.
func (s State) RevealedQuestions() int {
	if s.isUnrevealed() {
		return max(s.Question, 0)
	}
	return s.Question + 1
}

// IsUncounted reports whether a record of an ended match does not count: the match or its
// player left before the reveal.
func (s State) IsUncounted(record Record, totals Totals) bool {
	return record.Question >= s.RevealedQuestions() || totals.isRetracted(record)
}

// hasClosedQuestion reports whether at least one question was closed and
// revealed. A match without such a question counts for nothing.
func (s State) hasClosedQuestion() bool { return s.RevealedQuestions() > 0 }

// revealedTotals returns a player's totals as of the last reveal.
func (v View) revealedTotals(player string) Totals {
	t := v.Totals[player]
	if record, ok := v.Records[player]; ok && v.isUnrevealed() && !t.isRetracted(record) {
		return t.withoutRecord(record)
	}
	return t
}
