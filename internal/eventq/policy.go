package eventq

// Overflow says what a full queue does with more.
type Overflow string

// The ways of a full queue.
const (
	DropOldest Overflow = "drop_oldest" // the oldest make room
	DropNewest Overflow = "drop_newest" // what does not fit is dropped
	Reject     Overflow = "reject"      // a post that does not fit whole is refused (ErrFull) and not counted; offers as DropNewest
)

const (
	// MaxBatch is the most items that are sent together.
	MaxBatch = 128
	// MaxAgeMS bounds how old an item may be when a try to send it begins: a try
	// takes TryMS at the most, and nothing leaves that is over 3 minutes old.
	MaxAgeMS = 180_000 - SendTimeoutMS
	// TryMS bounds a try to send.
	SendTimeoutMS = 5000
	// AheadMS is how far the clock of who posts may be ahead.
	MaxAheadMS = 5000
	// MostLen bounds Terms.MaxLen, and what an operator sets instead.
	MaxQueueLen = 10_000_000
	// MaxBody bounds an item, in bytes.
	MaxBody = 2048
)

// Terms are what the queue of a game is kept by.
type Policy struct {
	Game      string
	MaxLen    int // items; what an operator has set for the game instead (Queue.Bound) beats it
	Overflow  Overflow
	BatchSize int      // 1 to MaxBatch
	FlushMS   int64    // a batch leaves that is not full once its oldest item has waited so long
	MaxAgeMS  int64    // 1 to MaxAgeMS
	PerSecond float64  // tries of all nodes together, retries too
	Burst     int      // tries at once after a rest
	Hot       bool     // it has reporters of its own from the start
	Report    []string // which types of the server's own players
}
