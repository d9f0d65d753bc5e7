package identity

import "slices"

// replaceAll replaces all known revocations by these.
func (r *Revocations) replaceAll(all []Revocation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active = make(map[revocationKey]Revocation, len(all))
	r.applyLocked(all)
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
	r.mu.Lock()
	defer r.mu.Unlock()
	r.applyLocked(page)
}

// applyLocked adds changed revocations and removes ended ones. The caller holds mu.
func (r *Revocations) applyLocked(page []Revocation) {
	now := r.Now()
	for _, revocation := range page {
		r.active[revocationKey{revocation.Game, revocation.Kind, revocation.ID}] = revocation
	}
	counts := map[RevocationKind]int{}
	for key, revocation := range r.active {
		if revocation.isInForce(now) {
			counts[key.kind]++
		} else {
			delete(r.active, key)
		}
	}
	r.metrics.setCounts(counts)
}

// removeEnded removes ended revocations, at most once per removeEndedInterval.
func (r *Revocations) removeEnded() {
	if now := r.Now(); now-r.removedEndedAt >= removeEndedInterval.Milliseconds() {
		r.removedEndedAt = now
		r.apply(nil)
	}
}

// checkToken refuses a token that is revoked by its id (the claim jti) or its subject. It
// also refuses a token whose subject is banned or erased as a player or host.
func (r *Revocations) checkToken(claims Claims) error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if _, isRevoked := r.findLocked(claims.Game, KindToken, claims.TokenID); isRevoked {
		return ErrTokenRevoked
	}
	return r.checkSubjectLocked(claims, claims.Subject)
}

// checkPlayer refuses a token whose holder plays as the player id, if that player is
// banned, erased or revoked. It also refuses the token if the link between its subject and
// the player has changed since. For a linked account, id differs from the token's subject.
func (r *Revocations) checkPlayer(claims Claims, id string) error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if _, wasLinked := r.findLocked(claims.Game, KindLinked, id); wasLinked {
		return ErrTokenRevoked
	}
	if claims.Subject != id {
		if _, wasUnlinked := r.findLocked(claims.Game, KindUnlinked, claims.Subject); wasUnlinked {
			return ErrTokenRevoked
		}
	}
	return r.checkSubjectLocked(claims, id)
}

// checkSubjectLocked refuses a token of the player or host id. The caller holds mu.
func (r *Revocations) checkSubjectLocked(claims Claims, id string) error {
	if len(r.active) == 0 {
		return nil
	}
	if revocation, isRevoked := r.findLocked(claims.Game, KindSubject, id); isRevoked && claims.IssuedAt < revocation.IssuedBefore {
		return ErrTokenRevoked
	}
	if claims.Role != RolePlayer && claims.Role != RoleHost {
		return nil
	}
	for _, erasedID := range []string{id, r.Store.ErasedID(claims.Game, id)} {
		if _, isErased := r.findLocked(claims.Game, KindErased, erasedID); isErased {
			return ErrErased
		}
	}
	if revocation, isBanned := r.findLocked(claims.Game, KindBan, id); isBanned {
		return &BannedError{Reason: revocation.Reason, EndsAt: revocation.EndsAt}
	}
	return nil
}

// findLocked returns a revocation if it is in force. The caller holds mu.
func (r *Revocations) findLocked(game string, kind RevocationKind, id string) (Revocation, bool) {
	revocation, found := r.active[revocationKey{game, kind, id}]
	return revocation, found && revocation.isInForce(r.Now())
}

// earliestIssueTime returns the first time at which a valid token of a player can be issued, in
// epoch ms. 0 means any time.
func (r *Revocations) earliestIssueTime(game, player string) int64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	revocation, isInForce := r.findLocked(game, KindSubject, player)
	if !isInForce {
		return 0
	}
	return revocation.IssuedBefore
}
