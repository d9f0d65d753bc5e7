package identity

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// BarsConfig is what a view of bars is made of; all fields but Registry are
// needed. Now is epoch ms by the clock that tokens live by.
type BarsConfig struct {
	Store    BarStore
	Tokens   *Tokens // whose kept keys change with the same revision
	Now      func() int64
	Logger   *slog.Logger
	Registry prometheus.Registerer // nil: not measured
}

// Bars is this node's view of all bars in force. It reads what has changed every
// second, and at once when woken. While the store is out of reach it keeps what
// it knows: who was barred stays out, and new bars wait. Safe for concurrent use; where it is nil nobody is barred.
type Bars struct {
	BarsConfig
	metrics *barMetrics
	woken   chan struct{}
	changed func([]Bar) // set before Run

	reading  sync.Mutex
	revision int64 // up to which the view holds all changes; under reading
	faulty   bool  // the last reading failed; under reading

	mu   sync.RWMutex
	held map[barKey]Bar
}

type barKey struct {
	game string
	kind BarKind
	id   string
}

const (
	barsEvery  = time.Second
	barsWithin = 5 * time.Second
	barsPage   = 1000
)

// OpenBars reads all bars. Run keeps the view up to date.
func OpenBars(ctx context.Context, c BarsConfig) (*Bars, error) {
	b := &Bars{BarsConfig: c, woken: make(chan struct{}, 1), changed: func([]Bar) {}, held: map[barKey]Bar{}}
	b.metrics = newBarMetrics(c.Registry, c.Now)
	if err := b.Refresh(ctx); err != nil {
		return nil, fmt.Errorf("identity: bars: %w", err)
	}
	return b, nil
}

// OnChange has f called, one call at a time, after each reading that found
// something, with the bars in it, none where only keys have changed. It is
// called before Run.
func (b *Bars) OnChange(f func([]Bar)) { b.changed = f }

// Wake has the view read soon. It does not block.
func (b *Bars) Wake() {
	select {
	case b.woken <- struct{}{}:
	default: // it is about to
	}
}

// Run keeps the view up to date until ctx ends.
func (b *Bars) Run(ctx context.Context) error {
	tick := time.NewTicker(barsEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-b.woken:
		}
		if err := b.Refresh(ctx); err != nil && ctx.Err() == nil {
			b.metrics.failures.Inc()
		}
	}
}

// Refresh reads what has changed now. Its error has been logged, once for each
// time that the store is away.
func (b *Bars) Refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, barsWithin)
	defer cancel()
	b.reading.Lock()
	defer b.reading.Unlock()
	found, moved, err := b.read(ctx)
	if moved {
		b.changed(found)
	}
	if faulty := err != nil; faulty != b.faulty {
		b.faulty = faulty
		if faulty {
			b.Logger.WarnContext(ctx, "bans and revocations cannot be read; those that are known stay in force, and new ones wait", "error", err)
		} else {
			b.Logger.InfoContext(ctx, "bans and revocations are read again")
		}
	}
	if err == nil {
		b.metrics.readAt.Store(b.Now())
	}
	return err
}

// read brings the view to the store's revision. A revision behind the view's is
// that of another store, or one that was put back: all is read anew.
func (b *Bars) read(ctx context.Context) (found []Bar, moved bool, err error) {
	revision, err := b.Store.Revision(ctx)
	if err != nil || revision == b.revision {
		return nil, false, err
	}
	if revision < b.revision {
		b.forget()
	}
	if err := b.Tokens.reload(ctx); err != nil {
		return nil, false, err
	}
	for {
		page, err := b.Store.BarsSince(ctx, b.revision, barsPage)
		if err != nil {
			return found, len(found) > 0, err
		}
		b.hold(page)
		found = append(found, page...)
		if len(page) > 0 {
			b.revision = page[len(page)-1].Seq
		}
		if len(page) < barsPage {
			break
		}
	}
	b.revision = max(b.revision, revision)
	return found, true, nil
}

func (b *Bars) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.revision, b.held = 0, map[barKey]Bar{}
}

// hold takes changed bars in, and lets go of those that have ended.
func (b *Bars) hold(page []Bar) {
	now := b.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, bar := range page {
		b.held[barKey{bar.Game, bar.Kind, bar.ID}] = bar
	}
	counts := map[BarKind]int{}
	for key, bar := range b.held {
		if bar.inForce(now) {
			counts[key.kind]++
		} else {
			delete(b.held, key)
		}
	}
	b.metrics.know(counts)
}

// token refuses what is barred of a token by what it says itself: its jti, its
// subject, and the subject as a player or host.
func (b *Bars) token(c Claims) error {
	if b == nil {
		return nil
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	if len(b.held) == 0 {
		return nil
	}
	now := b.Now()
	if c.ID != "" {
		if _, barred := b.bar(barKey{c.Game, BarToken, c.ID}, now); barred {
			return ErrTokenRevoked
		}
	}
	return b.subject(c, c.Subject, now)
}

// player refuses a token of the role player whose subject turned out to be a
// player: by another id than its own where an account is tied to a guest.
func (b *Bars) player(c Claims, id string) error {
	if b == nil {
		return nil
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	if len(b.held) == 0 {
		return nil
	}
	now := b.Now()
	if _, tied := b.bar(barKey{c.Game, BarTied, id}, now); tied {
		return ErrTokenRevoked
	}
	return b.subject(c, id, now)
}

// subject is called under mu.
func (b *Bars) subject(c Claims, id string, now int64) error {
	if bar, barred := b.bar(barKey{c.Game, BarSubject, id}, now); barred && c.IssuedAt < bar.IssuedBefore {
		return ErrTokenRevoked
	}
	if c.Role != RolePlayer && c.Role != RoleHost {
		return nil
	}
	if _, barred := b.bar(barKey{c.Game, BarErased, id}, now); barred && c.Role == RolePlayer {
		return ErrErased
	}
	if bar, barred := b.bar(barKey{c.Game, BarBan, id}, now); barred {
		return &BannedError{Reason: bar.Reason, EndsAt: bar.EndsAt}
	}
	return nil
}

func (b *Bars) bar(key barKey, now int64) (Bar, bool) {
	bar, held := b.held[key]
	return bar, held && bar.inForce(now)
}

// issuedFrom is the first instant, epoch ms, at which a token of a player can be
// issued that is not barred; 0: any.
func (b *Bars) issuedFrom(game, player string) int64 {
	if b == nil {
		return 0
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	bar, _ := b.bar(barKey{game, BarSubject, player}, b.Now())
	return bar.IssuedBefore
}

// refusals are what a token is refused for, by their labels; the first that fits
// holds.
var refusals = []struct {
	label string
	is    error
}{
	{"no_key", ErrTokenNoKey}, {"unknown_key", ErrTokenKey}, {"algorithm", ErrTokenAlg}, {"signature", ErrTokenSignature},
	{"no_expiry", ErrTokenNoExpiry}, {"malformed", ErrTokenMalformed}, {"expired", ErrTokenExpired}, {"too_long", ErrTokenLong},
	{"future", ErrTokenFuture}, {"audience", ErrTokenAudience}, {"game", ErrTokenGame}, {"role", ErrTokenRole}, {"subject", ErrTokenSubject},
	{"pi", ErrTokenPI}, {"erased", ErrErased}, {"revoked", ErrTokenRevoked}, {"banned", ErrBanned},
}

// refusalOf is the label of a refusal; "" for what is none.
func refusalOf(err error) string {
	for _, r := range refusals {
		if errors.Is(err, r.is) {
			return r.label
		}
	}
	return ""
}
