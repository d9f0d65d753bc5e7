package match

import (
	"context"
	"encoding/json"
	"errors"

	"laststand/internal/protocol"
)

// Phase is where a match stands.
//
//	countdown → open → sealed → revealed → open … | over → settled
type Phase string

// The phases. Sealed is open to the players' eyes and closed to answers.
const (
	Countdown Phase = "countdown"
	Open      Phase = "open"
	Sealed    Phase = "sealed"
	Revealed  Phase = "revealed"
	Over      Phase = "over"
	Settled   Phase = "settled"
)

// ended says whether nothing more is played.
func (p Phase) ended() bool { return p == Over || p == Settled }

// State is what changes of a match. Question counts from 0, and is -1 before
// the first has opened. Instants are cluster time.
type State struct {
	Phase     Phase
	Question  int
	OpensAt   int64 // of the question
	ClosesAt  int64
	DueAt     int64  // when the next step is due; 0 for never
	StartedAt int64  // when question 0 opened
	Reason    string // why the question was sealed
	Ending    Reason // set where the match is to end at the next step
	Leaver    string // whose leaving ends it
	Answered  int64  // accepted answers to the question
	Right     int64  // right ones among them
	Seq       int64  // number of the last push
}

// due says whether the next step is due at an instant.
func (s State) due(now int64) bool { return !s.Phase.ended() && now >= s.DueAt }

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
	SavedMS   int64           `json:"saved_ms"` // limit less elapsed, of a right answer
}

// Totals are the sums of a player's records.
type Totals struct{ Score, Correct, Answered, SavedMS int64 }

// less takes a record's effect away.
func (t Totals) less(r Record) Totals {
	t.Score -= r.Points
	t.Answered--
	t.SavedMS -= r.SavedMS
	if r.Correct {
		t.Correct--
	}
	return t
}

// View is a match read in one atomic step: its state, the records of the
// current question and the totals of the players asked for, and the frames of
// its log after the number asked for.
type View struct {
	State
	Plan    *Plan
	Records map[string]Record
	Totals  map[string]Totals
	Frames  [][]byte
}

// ErrNotFound says that there is no such match, or none any more.
var ErrNotFound = errors.New("match: not found")

// Store keeps matches. Every write is atomic and idempotent: run again with
// the same attempt it answers as the first time.
type Store interface {
	// Create writes a new match, its first push and its deadline, if there is
	// none of that id; it says whether it did.
	Create(ctx context.Context, p *Plan, found protocol.Numbered) (bool, error)
	// Read reads a match; ErrNotFound. The plan is filled where asked for.
	Read(ctx context.Context, q ReadQuery) (View, error)
	// Commit accepts an answer, or says why not.
	Commit(ctx context.Context, a Attempt) (Outcome, error)
	// Record finds a player's accepted answer to a question.
	Record(ctx context.Context, match, player string, question int) (Record, bool, error)
	// Step takes a step if the match still stands where the step begins.
	Step(ctx context.Context, s Step) (Stepped, error)
}

// Index finds matches over all partitions.
type Index interface {
	// Due lists matches whose deadline is before the instant.
	Due(ctx context.Context, before int64) ([]string, error)
	// Forget takes a match that is gone off the index.
	Forget(ctx context.Context, match string) error
	// Seqs tells the number of the last push of each match; those that are
	// settled or gone are left out.
	Seqs(ctx context.Context, matches []string) (map[string]int64, error)
	// Pending says whether the result of a match waits for the ledger.
	Pending(ctx context.Context, match string) (bool, error)
	// Unsettled counts the results that wait for the ledger.
	Unsettled(ctx context.Context) (int64, error)
}

// ReadQuery says what to read of a match. After is the number after which
// frames are wanted, -1 for none.
type ReadQuery struct {
	Match   string
	Plan    bool
	Players []string
	After   int64
}

// Attempt is a judged answer on its way to being accepted.
type Attempt struct {
	Match   string
	ID      string // of this attempt
	OpensAt int64  // of the question, as it was judged by
	Record  Record
	Seats   int // how many may answer: the last one makes the question due
	TTLMS   int64
	Seen    *protocol.Numbered // pushed where accepted
}

// Verdict is what became of an attempt.
type Verdict string

// The verdicts of a store.
const (
	Accepted  Verdict = "accepted"
	Duplicate Verdict = "duplicate" // an answer was there; Record is it
	Late      Verdict = "late"      // the question is closed, or closed before the stamp
	Early     Verdict = "early"     // the question is not open yet
	Stale     Verdict = "stale"     // judged by another opening instant
	Gone      Verdict = "gone"      // no such match
)

// Outcome is a verdict, and with Accepted how many have answered and the
// number of the push that says so, 0 where it is not known any more.
type Outcome struct {
	Verdict  Verdict
	Record   Record
	Answered int64
	Seq      int64
}

// Step is one step of a match: a compare-and-set on phase and question.
type Step struct {
	Match    string
	ID       string // of this attempt
	From     Phase
	Question int
	To       State // Answered, Right and Seq are the store's own
	Pushes   []protocol.Numbered
	Result   *Result // with the step to Over
	KeepMS   int64   // how long the match is kept from now on; 0: as before
}

// Stepped says whether the step was taken, and the number of its first push.
type Stepped struct {
	Taken bool
	First int64
}
