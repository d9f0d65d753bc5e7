package overload

import (
	"context"
	"time"
)

// knownSecretTTL is how long a node remembers a known secret.
const knownSecretTTL = 24 * time.Hour

func (r *Rule) newKnownSecret(attempt Attempt) knownSecret {
	return knownSecret{r.config.Name, attempt.Address, attempt.Secret}
}

// knowsSecret returns true if this node knows that an attempt's secret is right for its
// address.
func (r *Rule) knowsSecret(attempt Attempt) bool {
	expiresAt, ok := r.secrets.Get(r.newKnownSecret(attempt))
	return ok && time.Now().Before(expiresAt)
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
			r.storeErrors.Inc()
			return
		}
	}
	r.secrets.Add(r.newKnownSecret(attempt), time.Now().Add(knownSecretTTL))
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
		r.storeErrors.Inc()
	}
	if found {
		r.secrets.Add(r.newKnownSecret(attempt), time.Now().Add(knownSecretTTL))
	}
	return found
}
