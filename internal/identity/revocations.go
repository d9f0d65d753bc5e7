package identity

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// RevocationsConfig configures Revocations. All fields except Registry are required.
type RevocationsConfig struct {
	Store    RevocationStore
	Tokens   *Tokens      // reloads its stored keys when their revision in the store changes
	Now      func() int64 // epoch ms, by the same clock as Tokens
	Logger   *slog.Logger
	Registry prometheus.Registerer // nil: no metrics
}

// Revocations has all revocations in force, in the memory of this node. It reads changes
// from the store twice a second. While the store is unreachable, the known revocations stay in
// force and new ones wait. It is safe for concurrent use.
type Revocations struct {
	RevocationsConfig
	metrics     *revocationMetrics
	onChange    func([]Revocation) // set before Run
	mustReadAll atomic.Bool        // the ledger went back
	missedReads atomic.Int64       // how often this node may have missed revocations; see Claims.missedReads

	readMu         sync.Mutex
	revision       int64 // all changes up to this revision are in active; readMu guards this field and the next three
	readAt         int64 // when active last had all changes, epoch ms
	keysRevision   int64 // Tokens has the keys of this revision or a later one
	removedEndedAt int64 // when removeEnded last ran, epoch ms

	mu     sync.RWMutex                 // writers also hold readMu
	active map[revocationKey]Revocation // may still contain ended ones
}

type revocationKey struct {
	game string
	kind RevocationKind
	id   string
}

// OnChange sets the function that Refresh calls after each read that found changes, one
// call at a time. The function gets the changed revocations; none if only keys have
// changed. Call OnChange before Run.
func (r *Revocations) OnChange(onChange func([]Revocation)) { r.onChange = onChange }

// apply adds changed revocations and removes ended ones. If isAll is true, it also removes
// all others.
func (r *Revocations) apply(changed []Revocation, isAll bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if isAll {
		r.active = make(map[revocationKey]Revocation, len(changed))
	}
	now := r.Now()
	for _, revocation := range changed {
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

// removeEndedInterval is the time between two removals of ended revocations.
const removeEndedInterval = time.Minute

// removeEnded removes ended revocations, at most once per removeEndedInterval.
func (r *Revocations) removeEnded() {
	if now := r.Now(); now-r.removedEndedAt >= removeEndedInterval.Milliseconds() {
		r.removedEndedAt = now
		r.apply(nil, false)
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
