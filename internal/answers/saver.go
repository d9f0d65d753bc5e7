package answers

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/match"
	"laststand/internal/metric"
	"laststand/internal/timer"
)

const (
	saveInterval = time.Second     // between searches for matches, and so the usual delay of answers
	claimSize    = 64              // matches per claim
	batchAnswers = 20_000          // a transaction has at most the answers of one block more
	retryDelay   = 2 * time.Second // after an outage or a stop, until another attempt

	// claimDuration limits an attempt to save matches. After it another attempt may start.
	// It is less than ledger.ErasureRetention. So an attempt that has not seen an erasure
	// ends before the ledger erases the player's answers.
	claimDuration = 5 * time.Minute
)

// Store is where answers wait for the ledger. *redismatch.Store implements it.
type Store interface {
	// ClaimAnswers returns up to limit settled matches whose answers wait and whose claim
	// has ended at the time now. It sets their claims to end at the time until. waiting is
	// the number of all matches that wait.
	ClaimAnswers(ctx context.Context, now, until int64, limit int) (matches []string, waiting int64, err error)
	// PostponeAnswers lets the claims of matches whose answers wait end at a time.
	PostponeAnswers(ctx context.Context, matches []string, until int64) error
	// ReleaseAnswers reports that the ledger has the answers of a match, or never will. The
	// match can expire from then on. Callers may repeat it.
	ReleaseAnswers(ctx context.Context, match string) error
	Read(ctx context.Context, q match.ReadQuery) (match.View, error)
	// AllTotals returns the totals of every player who has answered or left.
	AllTotals(ctx context.Context, match string) (map[string]match.Totals, error)
	// RecordsOf returns all records of some players, by question and player. It leaves out
	// those that this node cannot read, and returns their number.
	RecordsOf(ctx context.Context, match string, players []string, questions int) (records []match.Record, unreadable int, err error)
}

// Ledger stores the answers. *ledger.Answers implements it.
type Ledger interface {
	// FindSeats returns what the ledger knows of a match and these players. It leaves out
	// players without a standing. It returns match.ErrNotFound if the match is not settled.
	FindSeats(ctx context.Context, game, match string, players []string) (Seats, error)
	// SaveBlocks stores blocks, all or none. It ignores a block that the ledger has.
	SaveBlocks(ctx context.Context, blocks []Block) error
}

// Config configures a Saver. All fields are required.
type Config struct {
	Store         Store
	Ledger        Ledger
	IsUnavailable func(error) bool // whether a call of the ledger that ended with this error may succeed later
	Now           func() int64     // cluster time, epoch ms
	Logger        *slog.Logger
	Registry      prometheus.Registerer
}

// Saver copies the answers of settled matches into the ledger.
type Saver struct {
	Config
	metrics *metrics
}

// NewSaver returns a saver. It does nothing before Run.
func NewSaver(config Config) *Saver {
	return &Saver{Config: config, metrics: newMetrics(config.Registry)}
}

// Run saves answers until the context ends, and then returns nil. Answers that it has not
// saved wait in the store.
func (s *Saver) Run(ctx context.Context) error {
	timer.Every(ctx, saveInterval, timer.LogFailures(s.Logger, "answers transfer", s.SaveWaiting))
	return nil
}

// SaveWaiting saves the answers of all matches that it can claim. Run calls it every second.
func (s *Saver) SaveWaiting(ctx context.Context) error {
	for {
		now := s.Now()
		matches, waiting, err := s.Store.ClaimAnswers(ctx, now, now+claimDuration.Milliseconds(), claimSize)
		if err != nil {
			return err
		}
		s.metrics.waiting.Set(float64(waiting))
		if len(matches) == 0 {
			return nil
		}
		if err := s.saveMatches(ctx, matches); err != nil {
			s.metrics.failures.WithLabelValues(reasonUnavailable).Inc()
			return err
		}
	}
}

// saveMatches saves claimed matches. It stops at an error of the store, and at an outage of
// the ledger. It then ends the claims of the other matches soon.
func (s *Saver) saveMatches(ctx context.Context, matches []string) error {
	attempt, cancel := context.WithTimeout(ctx, claimDuration)
	defer cancel()
	b := batch{saver: s, waiting: map[string]bool{}}
	for _, id := range matches {
		b.waiting[id] = true
	}
	for _, id := range matches {
		if err := s.addMatch(attempt, &b, id); err != nil {
			return errors.Join(err, s.postpone(ctx, &b))
		}
	}
	if err := b.flush(attempt); err != nil {
		return errors.Join(err, s.postpone(ctx, &b))
	}
	return nil
}

// postpone ends the claims of the matches that wait for a batch after retryDelay, also if
// the node is stopping.
func (s *Saver) postpone(ctx context.Context, b *batch) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), retryDelay)
	defer cancel()
	return s.Store.PostponeAnswers(ctx, slices.Collect(maps.Keys(b.waiting)), s.Now()+retryDelay.Milliseconds())
}

// addMatch adds the answers of a match to a batch, and saves full batches. The block with the
// questions is the last one: once readers find it, all others are there.
func (s *Saver) addMatch(ctx context.Context, b *batch, id string) error {
	view, err := s.Store.Read(ctx, match.ReadQuery{Match: id, WantPlan: true, AfterSeq: -1})
	switch {
	case errors.Is(err, match.ErrUnreadable): // another node can read it, or it expires
		s.metrics.failures.WithLabelValues(reasonUnreadable).Inc()
		delete(b.waiting, id)
		return nil
	case errors.Is(err, match.ErrNotFound):
		s.metrics.lost.WithLabelValues(reasonExpired).Inc()
		s.Logger.Warn("answers of a match expired before the ledger had them", "match", id)
		return s.Store.ReleaseAnswers(ctx, id)
	case err != nil:
		return err
	}
	reader, err := s.newMatchReader(ctx, view)
	if errors.Is(err, match.ErrNotFound) { // a dead letter, which an operator may still settle
		s.metrics.failures.WithLabelValues(reasonNotSettled).Inc()
		delete(b.waiting, id)
		return nil
	}
	if err != nil {
		return err
	}
	for index := reader.blockCount() - 1; index >= 0; index-- {
		block, err := reader.readBlock(ctx, index)
		if err == nil {
			err = b.add(ctx, block)
		}
		if err != nil {
			return err
		}
	}
	b.complete = append(b.complete, id)
	return nil
}

// The reasons of laststand_answers_losses_total and laststand_answers_failures_total.
const (
	reasonExpired     = "expired"     // the match expired in the store; counts the match
	reasonNoStanding  = "no_standing" // the ledger has no standing of the player; counts the player
	reasonUnreadable  = "unreadable"  // a record, or a match that this node cannot read
	reasonNotSettled  = "not_settled" // the ledger does not have the result, which is a dead letter
	reasonRefused     = "refused"     // the ledger refuses a block
	reasonUnavailable = "unavailable" // the store or the ledger is unreachable
)

type metrics struct {
	waiting  prometheus.Gauge
	saved    prometheus.Counter
	lost     *prometheus.CounterVec
	failures *prometheus.CounterVec
}

func newMetrics(registerer prometheus.Registerer) *metrics {
	factory := metric.For(registerer, "laststand_answers_")
	return &metrics{
		waiting:  factory.Gauge("waiting_matches", "Settled matches whose answers are not in the ledger yet."),
		saved:    factory.Counter("copies_total", "Answers that this node copied to the ledger; an answer counts again if the copy is repeated."),
		lost:     factory.CountersOf("losses_total", "Matches, players or answers that never reach the ledger, by reason.", "reason", reasonExpired, reasonNoStanding, reasonUnreadable),
		failures: factory.CountersOf("failures_total", "Attempts to copy answers that failed and are repeated, by reason.", "reason", reasonUnreadable, reasonNotSettled, reasonRefused, reasonUnavailable),
	}
}
