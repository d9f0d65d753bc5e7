package match

import (
	"encoding/json"

	"laststand/internal/protocol"
)

// Phase is where a match stands.
//
//	lobby → starting → countdown → open → sealed → revealed → open … | over → settled
//
// A duel begins with countdown. An arena's question that all have answered is
// revealed without being sealed.
type Phase string

// The phases. Starting is lobby to the players' eyes and takes no more seats;
// sealed is open to them and takes no more answers.
const (
	Lobby     Phase = "lobby"
	Starting  Phase = "starting"
	Countdown Phase = "countdown"
	Open      Phase = "open"
	Sealed    Phase = "sealed"
	Revealed  Phase = "revealed"
	Over      Phase = "over"
	Settled   Phase = "settled"
)

// hasEnded says whether nothing more is played.
func (p Phase) hasEnded() bool { return p == Over || p == Settled }

// State is what changes of a match. Question counts from 0, and is -1 before
// the first has opened. Instants are cluster time.
//
// Fields of the first group are written by steps only. Those of the second are
// the store's own: its other writes move them, and a step leaves them alone,
// but for Answered and Right, which opening a question sets to 0.
type State struct {
	Phase       Phase
	Question    int
	StartsAt    int64 // when question 0 is to open
	OpensAt     int64 // of the question
	ClosesAt    int64
	DueAt       int64  // when the next step is due; 0 for never
	StartedAt   int64  // when question 0 opened
	CloseReason string // why the question was closed
	EndReason   Reason // set where the match is to end at the next step
	Leaver      string // whose leaving ends it
	HostPaced   bool   // no question opens by itself
	Extended    bool   // time was given back to the question
	Alive       int64  // how many may answer the question: all with a seat, in survival those still in
	LastDecided int    // survival: the last question that was not void, -1 before
	Voids       []int  // survival: the questions that nobody survived

	Answered        int64 // accepted answers to the question; in survival of those who have stayed
	Right           int64 // right ones among them
	Players         int64 // seats
	LeftSeats       int64 // seats whose players have left while it was played
	EndedPlaces     int64 // places that have ended, of players and of who watched
	Locked          bool  // the lobby takes no more players
	SettledNotified bool  // its result is settled, and on the boards
	// Ratings are the final ones of a rated match, by player, once Told.
	Ratings map[string]int
	First   *First // who took the question, in a buzzer match
	Seq     int64  // number of the last push
	Version int64  // moved by every accepted write
}

// isDue says whether the next step is due at an instant.
func (s State) isDue(now int64) bool { return !s.Phase.hasEnded() && s.DueAt != 0 && now >= s.DueAt }

// hasAllAnswers says whether nobody is waited for at an open question.
func (s State) hasAllAnswers() bool { return s.Phase == Open && s.Answered >= s.Alive }

// Record is an accepted answer and what it was judged by and worth.
type Record struct {
	Player    string          `json:"player"`
	Question  int             `json:"question"`
	Given     json.RawMessage `json:"given"`  // as sent
	Normal    string          `json:"normal"` // as normalised
	Correct   bool            `json:"correct"`
	At        int64           `json:"at"` // the stamp on the frame
	ElapsedMS int64           `json:"elapsed_ms"`
	Points    int64           `json:"points"`
	SavedMS   int64           `json:"saved_ms"`       // limit less elapsed, of a right answer
	Node      string          `json:"node,omitempty"` // where it arrived
	First     bool            `json:"first,omitempty"`
}

// First is a decision: who answered a question right before everyone else, and
// what that was judged by.
type First struct {
	Question  int    `json:"question"`
	Player    string `json:"player"`
	Nickname  string `json:"nickname"`
	Team      string `json:"team,omitempty"`
	At        int64  `json:"at"` // the stamp on its frame, cluster time
	ElapsedMS int64  `json:"elapsed_ms"`
	Node      string `json:"node"` // where it arrived
}

// Totals are the sums of a player's records. Last counts the questions up to
// and including the last one answered right, Latest to the last one answered;
// 0 where there is none.
type Totals struct {
	Score, Correct, Answered, SavedMS int64
	LastCorrect, LastAnswered         int
	Left                              bool // the player has left the match
}

// isRetracted says whether a record does not count any more, because its player
// has left before it was revealed.
func (t Totals) isRetracted(r Record) bool { return t.Left && t.LastAnswered <= r.Question }

// minus takes a record's effect on the sums away.
func (t Totals) minus(r Record) Totals {
	t.Score -= r.Points
	t.Answered--
	t.SavedMS -= r.SavedMS
	if r.Correct {
		t.Correct--
	}
	return t
}

// TeamTotals are what a team has: its players and the points they made, in a
// buzzer match one for each first.
type TeamTotals struct{ Players, Score int64 }

// View is a match read in one atomic step: its state, and of the players asked
// for and those shown the records of the current question and the totals.
type View struct {
	State
	Plan    *Plan             // where asked for
	Seats   []Seat            // an arena's shown ones: all up to FullView, else the first ShortView, best first
	Records map[string]Record // of the current question
	Totals  map[string]Totals
	Ranks   map[string]int64 // where asked for: 1 + the count of better ones, by the records as they are
	Teams   map[string]TeamTotals
	Nodes   []string // that hold sessions of the match
	Frames  [][]byte // of its log after the number asked for
	Scores  []byte   // what the last reveal has shown of a match of over FullView players; nil before
	Firsts  []First  // of all questions so far, where an arena's seats to show were asked for
}

// ReadQuery says what to read of a match. After is the number after which
// frames are wanted, -1 for none.
type ReadQuery struct {
	Match       string
	WantPlan    bool
	Players     []string // beside those shown
	OmitRecords bool     // who asks has the records of Players: they are left out
	WantRanks   bool     // of Players
	WantListed  bool     // an arena's seats to show, and its teams
	After       int64
	Node        string // joins the nodes that hold sessions, "" for none
	SeenVersion int64  // the highest version seen
}

// Attempt is a judged answer on its way to being accepted.
type Attempt struct {
	Match       string
	ID          string // of this attempt
	OpensAt     int64  // of the question, as it was judged by
	Record      Record
	Seat        Seat
	Mode        Mode
	Limit       int64 // of the question
	TTLMS       int64
	LockoutMS   int64              // ms that a wrong answer shuts its team out for
	Push        *protocol.Numbered // pushed where accepted; nil for none
	SeenVersion int64              // the highest version seen
}

// Verdict is what became of an attempt.
type Verdict string

// The verdicts of a store.
const (
	Accepted   Verdict = "accepted"
	Duplicate  Verdict = "duplicate"  // an answer was there; Record is it
	Late       Verdict = "late"       // the question is closed, or closed before the stamp
	Early      Verdict = "early"      // the question is not open yet
	Stale      Verdict = "stale"      // judged by another opening instant
	Eliminated Verdict = "eliminated" // the player is out
	LockedOut  Verdict = "locked_out" // the team is, for RetryMS
	Gone       Verdict = "gone"       // no such match, or no seat in it
)

// Outcome is a verdict, and with Accepted how many have answered of how many
// that may, and the number of the push that says so, 0 where it is not known
// any more or none was asked for. With Sealed the answer has closed its
// question.
type Outcome struct {
	Verdict  Verdict
	Record   Record
	Answered int64
	Alive    int64
	Seq      int64
	Sealed   bool
	RetryMS  int64
	Version  int64
	Nodes    []string
}

// Step is one step of a match: a compare-and-set on phase and question, and on
// the version where one is given.
type Step struct {
	Match       string
	ID          string // of this attempt
	From        Phase
	Question    int
	Version     int64 // exactly this one; 0 for any
	SeenVersion int64 // the highest version seen
	To          State // its first group
	Large       bool  // over FullView players wait for it
	Buzzer      bool  // opening offers the question's first, whatever ends it takes it back
	Pushes      []protocol.Numbered
	Scores      []byte  // kept as View.Scores; nil for as before
	Result      *Result // with the step to Over
	KeepMS      int64   // how long the match is kept from now on; 0: as before
}

// StepResult says whether the step was taken, and the number of its first push.
type StepResult struct {
	Applied  bool
	FirstSeq int64
	Version  int64
	Nodes    []string
}
