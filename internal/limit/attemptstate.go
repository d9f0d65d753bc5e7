package limit

import (
	"hash/maphash"
	"slices"
	"time"
)

// attemptState is what a key's bucket knows of attempts.
type attemptState struct {
	reserved        int           // tokens that are reserved and may be returned
	secrets         []knownSecret // secrets that were right for this key, the newest last
	fetchedAt       time.Time     // when the secrets of other nodes were last fetched
	publishFailedAt time.Time     // when publishing a secret last failed
}

// reserve takes a token that may be returned. It returns 0, or how long until there is
// a token; RetrySoon if all are reserved.
func (b *bucket) reserve(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := b.attemptState()
	switch {
	case now.Before(b.refusedUntil):
		return max(b.refusedUntil.Sub(now), RetrySoon+1)
	case b.tokens.AllowN(now, 1):
		g.reserved++
		return 0
	case g.reserved > 0:
		return RetrySoon
	}
	return max(b.timeUntil(now, 1), RetrySoon+1)
}

// finishReservation ends a reservation: the token is spent or returned.
func (b *bucket) finishReservation(now time.Time, spent bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.attemptState().reserved--
	if !spent {
		b.tokens.ReserveN(now, -1) // tokens beyond a full bucket are cut off at its next use
	}
}

// secretSeed is random for this process, so that clients cannot construct secrets with
// equal hashes.
var secretSeed = maphash.MakeSeed()

// knownSecret is a secret, by its hash, and whether it was published to the other
// nodes.
type knownSecret struct {
	hash      uint64
	published bool
}

// addSecret adds a secret, in place of the oldest if there are too many. It returns
// true if the caller must publish the secret.
func (b *bucket) addSecret(now time.Time, secret string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	g, secretEntry := b.attemptState(), b.findSecret(secret)
	if secretEntry == nil {
		if len(g.secrets) == MaxSecrets {
			g.secrets = slices.Delete(g.secrets, 0, 1)
		}
		g.secrets = append(g.secrets, knownSecret{hash: maphash.String(secretSeed, secret)})
		secretEntry = &g.secrets[len(g.secrets)-1]
	}
	if secretEntry.published || now.Sub(g.publishFailedAt) < fetchEvery {
		return false
	}
	secretEntry.published = true
	return true
}

// markUnpublished notes that publishing a secret failed. It is published again after a
// while.
func (b *bucket) markUnpublished(now time.Time, secret string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if entry := b.findSecret(secret); entry != nil {
		entry.published, b.attemptState().publishFailedAt = false, now
	}
}

func (b *bucket) knowsSecret(secret string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.findSecret(secret) != nil
}

// The caller of findSecret holds mu.
func (b *bucket) findSecret(secret string) *knownSecret {
	if b.attempts == nil {
		return nil
	}
	hash := maphash.String(secretSeed, secret)
	for i := range b.attempts.secrets {
		if b.attempts.secrets[i].hash == hash {
			return &b.attempts.secrets[i]
		}
	}
	return nil
}

// The caller of attemptState holds mu.
func (b *bucket) attemptState() *attemptState {
	if b.attempts == nil {
		b.attempts = new(attemptState)
	}
	return b.attempts
}

// startFetch returns true if it is time to fetch the secrets of other nodes; the caller
// must then do so.
func (b *bucket) startFetch(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := b.attemptState()
	if now.Sub(g.fetchedAt) < fetchEvery {
		return false
	}
	g.fetchedAt = now
	return true
}
