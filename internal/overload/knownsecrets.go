package overload

import (
	"context"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Attempt is an attempt to use a secret, such as a join code.
type Attempt struct {
	Address Key
	Player  Key // the zero Key if the player is unknown
	Secret  string
}

// knownSecretTTL is how long a node remembers a known secret.
const knownSecretTTL = 24 * time.Hour

// knownSecrets has the secrets that were right for an address. It is safe for concurrent use.
type knownSecrets struct {
	rule     *Rule                          // its shared store has the secrets of all nodes
	expiries *lru.Cache[Attempt, time.Time] // no Attempt has a Player
}

func newKnownSecrets(rule *Rule) knownSecrets {
	expiries, _ := lru.New[Attempt, time.Time](defaultMaxKeys) // fails only for a size below 1
	return knownSecrets{rule, expiries}
}

// has returns true if this node knows that an attempt's secret is right for its address.
func (k *knownSecrets) has(attempt Attempt) bool {
	attempt.Player = Key{}
	expiresAt, ok := k.expiries.Get(attempt)
	return ok && time.Now().Before(expiresAt)
}

func (k *knownSecrets) remember(attempt Attempt) {
	attempt.Player = Key{}
	k.expiries.Add(attempt, time.Now().Add(knownSecretTTL))
}

// add adds a secret to the shared store and at this node. If the store fails, this node does
// not learn it either, so that the next right attempt stores it again.
func (k *knownSecrets) add(ctx context.Context, attempt Attempt) {
	if k.has(attempt) {
		return
	}
	err := k.rule.callStore(ctx, func(ctx context.Context, store Store) error {
		return store.AddSecret(ctx, k.rule.config.Name, attempt.Address.String(), attempt.Secret)
	})
	if err == nil {
		k.remember(attempt)
	}
}

// fetch returns true if the shared store has an attempt's secret for its address.
func (k *knownSecrets) fetch(ctx context.Context, attempt Attempt) (found bool) {
	_ = k.rule.callStore(ctx, func(ctx context.Context, store Store) (err error) {
		found, err = store.HasSecret(ctx, k.rule.config.Name, attempt.Address.String(), attempt.Secret)
		return err
	})
	if found {
		k.remember(attempt)
	}
	return found
}
