package identity

import "slices"

// replace replaces all known revocations by these.
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

// extendSessionEnds returns a copy of revocations that this node learns of now. It extends
// those of erased and unlinked players to SessionEndWindow from now, because this node may
// have been cut off from the store. It does not extend those that were lifted.
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

// applyRevocation replaces or removes one revocation in active, and updates counts.
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

// removeEnded removes ended revocations, at most once per removeEndedInterval. It does not
// block readers while it searches.
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

// checkToken refuses a token that is revoked by its id (the claim jti) or its subject. It
// also refuses a token whose subject is banned or erased as a player or host.
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

// checkPlayer refuses a token that belongs to the player id, if the player is banned,
// erased or revoked. For a linked account, id differs from the subject of the token.
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

// checkSubjectLocked refuses a token of the player or host id. The caller holds mu.
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

// isErasedLocked returns true if the player is erased. The caller holds mu.
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

// missedReadsNow returns the value of Claims.missedReads for a token that is verified now.
// If a session's value is lower, this node may have missed the revocation of its token.
func (b *Revocations) missedReadsNow() int64 {
	if b == nil {
		return 0
	}
	return b.missedReads.Load()
}

// findInForce returns a revocation if it is in force at the time now. The caller holds mu.
func (b *Revocations) find(key revocationKey, now int64) (Revocation, bool) {
	bar, held := b.active[key]
	return bar, held && bar.isInForce(now)
}

// issuedFrom returns the first time at which a valid token of a player can be issued, in
// epoch ms. 0 means any time.
func (b *Revocations) issuedFrom(game, player string) int64 {
	if b == nil {
		return 0
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	bar, _ := b.find(revocationKey{game, KindSubject, player}, b.Now())
	return bar.IssuedBefore
}
