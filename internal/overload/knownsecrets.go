package overload

import (
	"context"
	"slices"
	"time"
)

// maxKnownSecrets is how many known secrets of a key a node stores: the newest ones.
const maxKnownSecrets = 64

// attemptState is the part of a key's bucket that a FailureLimiter uses.
type attemptState struct {
	slot         chan struct{} // has an element while an attempt runs
	knownSecrets []string      // secrets that were right for this key, the newest last
}

// attemptSlot returns the channel in which a running attempt has an element.
func (b *bucket) attemptSlot() chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.attemptState().slot
}

// attemptState returns the bucket's state of attempts. The caller holds mu.
func (b *bucket) attemptState() *attemptState {
	if b.attempts == nil {
		b.attempts = &attemptState{slot: make(chan struct{}, 1)}
	}
	return b.attempts
}

// knowsSecret returns true if this node knows that an attempt's secret is right for its
// address.
func (r *Rule) knowsSecret(attempt Attempt) bool {
	b := r.bucket(time.Now(), attempt.Address)
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.attempts != nil && slices.Contains(b.attempts.knownSecrets, attempt.Secret)
}

// learnSecret stores at this node that an attempt's secret is right for its address.
func (r *Rule) learnSecret(attempt Attempt) {
	b := r.bucket(time.Now(), attempt.Address)
	b.mu.Lock()
	defer b.mu.Unlock()
	state := b.attemptState()
	if slices.Contains(state.knownSecrets, attempt.Secret) {
		return
	}
	if len(state.knownSecrets) == maxKnownSecrets {
		state.knownSecrets = slices.Delete(state.knownSecrets, 0, 1)
	}
	state.knownSecrets = append(state.knownSecrets, attempt.Secret)
}

// addSecret stores that an attempt's secret is right for its address, in the shared store
// and at this node. If the store fails, this node does not learn it either, so that the
// next right attempt stores it again.
func (r *Rule) addSecret(ctx context.Context, attempt Attempt) {
	if r.knowsSecret(attempt) {
		return
	}
	if r.store != nil {
		ctx, cancel := context.WithTimeout(ctx, storeTimeout)
		defer cancel()
		if r.store.AddSecret(ctx, r.config.Name, attempt.Address.String(), attempt.Secret) != nil {
			r.counters.storeErrors.Inc()
			return
		}
	}
	r.learnSecret(attempt)
}

// fetchSecret returns true if the shared store has an attempt's secret for its address.
func (r *Rule) fetchSecret(ctx context.Context, attempt Attempt) bool {
	if r.store == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	found, err := r.store.HasSecret(ctx, r.config.Name, attempt.Address.String(), attempt.Secret)
	if err != nil {
		r.counters.storeErrors.Inc()
	}
	if found {
		r.learnSecret(attempt)
	}
	return found
}
