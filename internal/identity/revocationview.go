package identity

import "slices"

// replaceAll replaces all known revocations by these.
func (r *Revocations) replaceAll(all []Revocation) {
	active, counts, now := make(map[revocationKey]Revocation, len(all)), map[RevocationKind]int{}, r.Now()
	for _, revocation := range all {
		applyRevocation(active, counts, revocation, now)
	}
	r.mu.Lock()
	r.active, r.counts = active, counts
	r.mu.Unlock()
	r.metrics.setCounts(counts)
}

// prolongRevocations returns a copy of revocations that this node learns of now. It extends
// those of erased and unlinked players to SessionEndWindow from now, because this node may
// have been cut off from the store. It does not extend those that were lifted.
func prolongRevocations(page []Revocation, now int64) []Revocation {
	extended := slices.Clone(page)
	for i, revocation := range extended {
		if (revocation.Kind == KindErased || revocation.Kind == KindUnlinked) && revocation.EndsAt > revocation.ChangedAt {
			extended[i].EndsAt = max(revocation.EndsAt, now+SessionEndWindow.Milliseconds())
		}
	}
	return extended
}

// apply adds changed revocations and removes ended ones.
func (r *Revocations) apply(page []Revocation) {
	now := r.Now()
	r.mu.Lock()
	for _, revocation := range page {
		applyRevocation(r.active, r.counts, revocation, now)
	}
	r.mu.Unlock()
	r.metrics.setCounts(r.counts)
}

// applyRevocation replaces or removes one revocation in active, and updates counts.
func applyRevocation(active map[revocationKey]Revocation, counts map[RevocationKind]int, revocation Revocation, now int64) {
	key := revocationKey{revocation.Game, revocation.Kind, revocation.ID}
	if _, known := active[key]; known {
		delete(active, key)
		counts[key.kind]--
	}
	if revocation.isInForce(now) {
		active[key] = revocation
		counts[key.kind]++
	}
}

// removeEnded removes ended revocations, at most once per removeEndedInterval. It does not
// block readers while it searches.
func (r *Revocations) removeEnded() {
	now := r.Now()
	if now-r.removedEndedAt < removeEndedInterval.Milliseconds() {
		return
	}
	r.removedEndedAt = now
	var ended []Revocation
	r.mu.RLock()
	for _, revocation := range r.active {
		if !revocation.isInForce(now) {
			ended = append(ended, revocation)
		}
	}
	r.mu.RUnlock()
	r.apply(ended)
}

// checkToken refuses a token that is revoked by its id (the claim jti) or its subject. It
// also refuses a token whose subject is banned or erased as a player or host.
func (r *Revocations) checkToken(claims Claims) error {
	if r == nil {
		return nil
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if len(r.active) == 0 {
		return nil
	}
	now := r.Now()
	if claims.TokenID != "" {
		if _, isRevoked := r.findInForce(revocationKey{claims.Game, KindToken, claims.TokenID}, now); isRevoked {
			return ErrTokenRevoked
		}
	}
	return r.checkSubjectLocked(claims, claims.Subject, now)
}

// checkPlayer refuses a token whose holder plays as the player id, if that player is
// banned, erased or revoked. It also refuses the token if the link between its subject and
// the player has changed since. For a linked account, id differs from the token's subject.
func (r *Revocations) checkPlayer(claims Claims, id string) error {
	if r == nil {
		return nil
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if len(r.active) == 0 {
		return nil
	}
	now := r.Now()
	if _, wasLinked := r.findInForce(revocationKey{claims.Game, KindLinked, id}, now); wasLinked {
		return ErrTokenRevoked
	}
	if claims.Subject != id {
		if _, wasUnlinked := r.findInForce(revocationKey{claims.Game, KindUnlinked, claims.Subject}, now); wasUnlinked {
			return ErrTokenRevoked
		}
	}
	return r.checkSubjectLocked(claims, id, now)
}

// checkSubjectLocked refuses a token of the player or host id. The caller holds mu.
func (r *Revocations) checkSubjectLocked(claims Claims, id string, now int64) error {
	if revocation, isRevoked := r.findInForce(revocationKey{claims.Game, KindSubject, id}, now); isRevoked && claims.IssuedAt < revocation.IssuedBefore {
		return ErrTokenRevoked
	}
	if claims.Role != RolePlayer && claims.Role != RoleHost {
		return nil
	}
	if r.isErasedLocked(claims.Game, id, now) {
		return ErrErased
	}
	if revocation, isRevoked := r.findInForce(revocationKey{claims.Game, KindBan, id}, now); isRevoked {
		return &BannedError{Reason: revocation.Reason, EndsAt: revocation.EndsAt}
	}
	return nil
}

// isErasedLocked returns true if the player is erased. The caller holds mu.
func (r *Revocations) isErasedLocked(game, id string, now int64) bool {
	if r.counts[KindErased] == 0 {
		return false
	}
	if _, isErased := r.findInForce(revocationKey{game, KindErased, id}, now); isErased {
		return true
	}
	_, isErased := r.findInForce(revocationKey{game, KindErased, r.Store.ErasedID(game, id)}, now)
	return isErased
}

// currentMissedReads returns the value of Claims.missedReads for a token that is verified now.
// If a session's value is lower, this node may have missed the revocation of its token.
func (r *Revocations) currentMissedReads() int64 {
	if r == nil {
		return 0
	}
	return r.missedReads.Load()
}

// findInForce returns a revocation if it is in force at the time now. The caller holds mu.
func (r *Revocations) findInForce(key revocationKey, now int64) (Revocation, bool) {
	revocation, found := r.active[key]
	return revocation, found && revocation.isInForce(now)
}

// earliestIssueTime returns the first time at which a valid token of a player can be issued, in
// epoch ms. 0 means any time.
func (r *Revocations) earliestIssueTime(game, player string) int64 {
	if r == nil {
		return 0
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	revocation, _ := r.findInForce(revocationKey{game, KindSubject, player}, r.Now())
	return revocation.IssuedBefore
}
