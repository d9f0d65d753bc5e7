package identity

import "slices"

// replace makes these revocations the whole view.
func (b *Revocations) replace(all []Revocation) {
	held, counts, now := make(map[revocationKey]Revocation, len(all)), map[RevocationKind]int{}, b.Now()
	for _, bar := range all {
		applyOne(held, counts, bar, now)
	}
	b.mu.Lock()
	b.active, b.counts = held, counts
	b.mu.Unlock()
	b.metrics.setCounts(counts)
}

// extendSessionEnds returns a page of revocations for a node that learns of them now.
// Those that end sessions stay in force for SessionEndWindow also at a node that was
// cut off, unless they were lifted.
func extendSessionEnds(page []Revocation, now int64) []Revocation {
	extended := slices.Clone(page)
	for i, b := range extended {
		if (b.Kind == KindErased || b.Kind == KindUnlinked) && b.EndsAt > b.At {
			extended[i].EndsAt = max(b.EndsAt, now+SessionEndWindow.Milliseconds())
		}
	}
	return extended
}

// apply adds changed revocations and removes ended ones.
func (b *Revocations) apply(page []Revocation) {
	now := b.Now()
	b.mu.Lock()
	for _, bar := range page {
		applyOne(b.active, b.counts, bar, now)
	}
	b.mu.Unlock()
	b.metrics.setCounts(b.counts)
}

func applyOne(held map[revocationKey]Revocation, counts map[RevocationKind]int, bar Revocation, now int64) {
	key := revocationKey{bar.Game, bar.Kind, bar.ID}
	if _, known := held[key]; known {
		delete(held, key)
		counts[key.kind]--
	}
	if bar.isInForce(now) {
		held[key] = bar
		counts[key.kind]++
	}
}

// removeEnded removes ended revocations once in removeEndedEvery. Readers wait only
// while it removes.
func (b *Revocations) removeEnded() {
	now := b.Now()
	if now-b.removedEndedAt < removeEndedEvery.Milliseconds() {
		return
	}
	b.removedEndedAt = now
	var ended []Revocation
	b.mu.RLock()
	for _, bar := range b.active {
		if !bar.isInForce(now) {
			ended = append(ended, bar)
		}
	}
	b.mu.RUnlock()
	b.apply(ended)
}

// checkToken refuses a token by what it says itself: its jti, its subject, and the
// subject as a player or host.
func (b *Revocations) checkToken(c Claims) error {
	if b == nil {
		return nil
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	if len(b.active) == 0 {
		return nil
	}
	now := b.Now()
	if c.ID != "" {
		if _, barred := b.find(revocationKey{c.Game, KindToken, c.ID}, now); barred {
			return ErrTokenRevoked
		}
	}
	return b.checkSubject(c, c.Subject, now)
}

// checkPlayer refuses a player's token whose subject has turned out to be the player
// id. For a linked account that is another id.
func (b *Revocations) checkPlayer(c Claims, id string) error {
	if b == nil {
		return nil
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	if len(b.active) == 0 {
		return nil
	}
	now := b.Now()
	if _, tied := b.find(revocationKey{c.Game, KindLinked, id}, now); tied {
		return ErrTokenRevoked
	}
	if c.Subject != id {
		if _, untied := b.find(revocationKey{c.Game, KindUnlinked, c.Subject}, now); untied {
			return ErrTokenRevoked
		}
	}
	return b.checkSubject(c, id, now)
}

// The caller of checkSubject holds mu.
func (b *Revocations) checkSubject(c Claims, id string, now int64) error {
	if bar, barred := b.find(revocationKey{c.Game, KindSubject, id}, now); barred && c.IssuedAt < bar.IssuedBefore {
		return ErrTokenRevoked
	}
	if c.Role != RolePlayer && c.Role != RoleHost {
		return nil
	}
	if b.isErased(c.Game, id, now) {
		return ErrErased
	}
	if bar, barred := b.find(revocationKey{c.Game, KindBan, id}, now); barred {
		return &BannedError{Reason: bar.Reason, EndsAt: bar.EndsAt}
	}
	return nil
}

// The caller of isErased holds mu.
func (b *Revocations) isErased(game, id string, now int64) bool {
	if b.counts[KindErased] == 0 {
		return false
	}
	if _, barred := b.find(revocationKey{game, KindErased, id}, now); barred {
		return true
	}
	_, barred := b.find(revocationKey{game, KindErased, b.Store.ErasedID(game, id)}, now)
	return barred
}

// missedReadsNow returns the value for claims that are verified now. A session with a
// lower value may have missed its revocation.
func (b *Revocations) missedReadsNow() int64 {
	if b == nil {
		return 0
	}
	return b.missedReads.Load()
}

func (b *Revocations) find(key revocationKey, now int64) (Revocation, bool) {
	bar, held := b.active[key]
	return bar, held && bar.isInForce(now)
}

// issuedFrom returns the first time, epoch ms, at which a valid token of a player can
// be issued; 0 for any.
func (b *Revocations) issuedFrom(game, player string) int64 {
	if b == nil {
		return 0
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	bar, _ := b.find(revocationKey{game, KindSubject, player}, b.Now())
	return bar.IssuedBefore
}
