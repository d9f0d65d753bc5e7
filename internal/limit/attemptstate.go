package limit

import (
	"hash/maphash"
	"slices"
	"time"
)

// attemptState is the part of a key's bucket that a FailureLimiter uses.
type attemptState struct {
	reserved        int           // tokens that are reserved now and may be returned
	knownSecrets    []knownSecret // secrets that were right for this key, the newest last
	fetchedAt       time.Time     // when the secrets of other nodes were last fetched
	publishFailedAt time.Time     // when publishing a secret last failed
}

// reserve takes a token that may be returned. It returns 0, or how long until a token is
// available. It returns RetrySoon if reserved tokens may be returned at any time.
func (b *bucket) reserve(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	state := b.attemptState()
	switch {
	case now.Before(b.refusedUntil):
		return max(b.refusedUntil.Sub(now), RetrySoon+1)
	case b.tokens.AllowN(now, 1):
		state.reserved++
		return 0
	case state.reserved > 0:
		return RetrySoon
	}
	return max(b.timeUntil(now, 1), RetrySoon+1)
}

// finishReservation ends a reservation. If spent is false, it returns the token.
func (b *bucket) finishReservation(now time.Time, spent bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.attemptState().reserved--
	if !spent {
		b.tokens.ReserveN(now, -1) // the limiter drops tokens above a full bucket at its next use
	}
}

// secretSeed is random for this process, so that clients cannot construct secrets with
// equal hashes.
var secretSeed = maphash.MakeSeed()

// knownSecret is the hash of a right secret. published means that the shared store has it,
// or that this node is writing it.
type knownSecret struct {
	hash      uint64
	published bool
}

// addSecret adds a secret. If the key has MaxSecretsPerKey already, it removes the oldest.
// It returns true if the caller must publish the secret to the shared store.
func (b *bucket) addSecret(now time.Time, secret string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	state, entry := b.attemptState(), b.findSecret(secret)
	if entry == nil {
		if len(state.knownSecrets) == MaxSecretsPerKey {
			state.knownSecrets = slices.Delete(state.knownSecrets, 0, 1)
		}
		state.knownSecrets = append(state.knownSecrets, knownSecret{hash: maphash.String(secretSeed, secret)})
		entry = &state.knownSecrets[len(state.knownSecrets)-1]
	}
	if entry.published || now.Sub(state.publishFailedAt) < fetchInterval {
		return false
	}
	entry.published = true
	return true
}

// markPublishFailed notes that publishing a secret has failed. addSecret asks for it again
// after fetchInterval.
func (b *bucket) markPublishFailed(now time.Time, secret string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if entry := b.findSecret(secret); entry != nil {
		entry.published, b.attemptState().publishFailedAt = false, now
	}
}

// knowsSecret returns true if this node knows that the secret is right.
func (b *bucket) knowsSecret(secret string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.findSecret(secret) != nil
}

// findSecret returns the entry of a secret, nil if there is none. The caller holds mu.
func (b *bucket) findSecret(secret string) *knownSecret {
	if b.attempts == nil {
		return nil
	}
	hash := maphash.String(secretSeed, secret)
	for i := range b.attempts.knownSecrets {
		if b.attempts.knownSecrets[i].hash == hash {
			return &b.attempts.knownSecrets[i]
		}
	}
	return nil
}

// attemptState returns the bucket's state of attempts. The caller holds mu.
func (b *bucket) attemptState() *attemptState {
	if b.attempts == nil {
		b.attempts = new(attemptState)
	}
	return b.attempts
}

// startFetch returns true if the last fetch of the secrets of other nodes is fetchInterval
// ago. The caller must then fetch them.
func (b *bucket) startFetch(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	state := b.attemptState()
	if now.Sub(state.fetchedAt) < fetchInterval {
		return false
	}
	state.fetchedAt = now
	return true
}
