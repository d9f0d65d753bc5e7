package eventq

// Overflow is what a full queue does with more items.
type Overflow string

// The ways of a full queue.
const (
	DropOldest Overflow = "drop_oldest" // drop the oldest items
	DropNewest Overflow = "drop_newest" // drop what does not fit
	Reject     Overflow = "reject"      // refuse a post that does not fit (ErrFull) and count nothing; offers are treated as with DropNewest
)

const (
	// MaxBatch is the largest number of items that are sent together.
	MaxBatch = 128
	// MaxAgeMS bounds the age of an item when an attempt to send it begins. An
	// attempt takes at most SendTimeoutMS, so nothing leaves that is older than
	// 3 minutes.
	MaxAgeMS = 180_000 - SendTimeoutMS
	// SendTimeoutMS bounds an attempt to send.
	SendTimeoutMS = 5000
	// MaxAheadMS is how far the clock of a poster may be ahead.
	MaxAheadMS = 5000
	// MaxQueueLen bounds Policy.MaxLen, and the limit that an operator sets.
	MaxQueueLen = 10_000_000
	// MaxBody bounds an item, in bytes.
	MaxBody = 2048
)

// Policy is how the queue of a game works.
type Policy struct {
	Game      string
	MaxLen    int // items; a limit that an operator has set (Admin.SetMaxLen) takes precedence
	Overflow  Overflow
	BatchSize int      // 1 to MaxBatch
	FlushMS   int64    // a batch that is not full leaves after its oldest item has waited this long
	MaxAgeMS  int64    // 1 to MaxAgeMS
	PerSecond float64  // attempts of all nodes together, with retries
	Burst     int      // attempts at once after a pause
	Hot       bool     // its batches never wait for a free worker
	Report    []string // which types of this server's players are reported
}
