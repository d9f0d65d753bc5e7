package identity

import "slices"

// What a view holds, and whom it refuses.

// replace has the view hold these bars and no others.
func (b *Bars) replace(all []Bar) {
	held, counts, now := make(map[barKey]Bar, len(all)), map[BarKind]int{}, b.Now()
	for _, bar := range all {
		put(held, counts, bar, now)
	}
	b.mu.Lock()
	b.held, b.counts = held, counts
	b.mu.Unlock()
	b.metrics.know(counts)
}

// heard is a page of bars as a node holds them that hears of them now. One that is
// there to end sessions does so for a while also at a node that was cut off, unless
// it was lifted.
func heard(page []Bar, now int64) []Bar {
	held := slices.Clone(page)
	for i, b := range held {
		if (b.Kind == BarErased || b.Kind == BarUntied) && b.EndsAt > b.At {
			held[i].EndsAt = max(b.EndsAt, now+SessionsEnd.Milliseconds())
		}
	}
	return held
}

// hold takes changed bars in, and lets go of those that have ended.
func (b *Bars) hold(page []Bar) {
	now := b.Now()
	b.mu.Lock()
	for _, bar := range page {
		put(b.held, b.counts, bar, now)
	}
	b.mu.Unlock()
	b.metrics.know(b.counts)
}

func put(held map[barKey]Bar, counts map[BarKind]int, bar Bar, now int64) {
	key := barKey{bar.Game, bar.Kind, bar.ID}
	if _, known := held[key]; known {
		delete(held, key)
		counts[key.kind]--
	}
	if bar.inForce(now) {
		held[key] = bar
		counts[key.kind]++
	}
}

// sweep lets go, now and then, of bars that have ended by their time. Readers
// wait for none but the ended.
func (b *Bars) sweep() {
	now := b.Now()
	if now-b.sweptAt < sweepEvery.Milliseconds() {
		return
	}
	b.sweptAt = now
	var ended []Bar
	b.mu.RLock()
	for _, bar := range b.held {
		if !bar.inForce(now) {
			ended = append(ended, bar)
		}
	}
	b.mu.RUnlock()
	b.hold(ended)
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
	if c.Subject != id {
		if _, untied := b.bar(barKey{c.Game, BarUntied, c.Subject}, now); untied {
			return ErrTokenRevoked
		}
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
	if b.erased(c.Game, id, now) {
		return ErrErased
	}
	if bar, barred := b.bar(barKey{c.Game, BarBan, id}, now); barred {
		return &BannedError{Reason: bar.Reason, EndsAt: bar.EndsAt}
	}
	return nil
}

// erased is called under mu.
func (b *Bars) erased(game, id string, now int64) bool {
	if b.counts[BarErased] == 0 {
		return false
	}
	if _, barred := b.bar(barKey{game, BarErased, id}, now); barred {
		return true
	}
	_, barred := b.bar(barKey{game, BarErased, b.Store.ErasedID(game, id)}, now)
	return barred
}

// gapsNow is what claims have that are verified now. Of a session whose claims have
// less nobody knows whether it was barred.
func (b *Bars) gapsNow() int64 {
	if b == nil {
		return 0
	}
	return b.gaps.Load()
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
